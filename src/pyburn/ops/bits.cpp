// What elements are made of: their bits, mantissas and exponents.
#include "pyburn/ops/bits.h"

#include "pyburn/ops/generated/binary.h"
#include "pyburn/ops/generated/bits.h"
#include "pyburn/ops/rules.h"

namespace pyburn {
namespace {

Meta infer_view(const BitView& a, Metas in) {
  Shape shape = in[0].shape;
  const int64_t from = size_of(in[0].dtype), to = size_of(a.dtype);
  if (from == to) return {shape, a.dtype};
  require(shape.rank() > 0, "a tensor without axes cannot be seen in a dtype of another size: got {} as {}", in[0].dtype, a.dtype);
  const int64_t bytes = shape.back() * from;
  require(bytes % to == 0, "the last extent must be a multiple of {} to be seen as {}: got {}", to / from, a.dtype, in[0].shape);
  shape[shape.rank() - 1] = bytes / to;
  return {shape, a.dtype};
}
MetaList infer_frexp(const NoAttrs&, Metas in) {
  require<DTypeError>(is_floating(in[0].dtype), "expected a floating dtype: got {}", in[0].dtype);
  return {in[0], {in[0].shape, DType::int32}};
}
Grads grad_frexp(const NoAttrs&, const GradContext& c) { return {c.dy() / pow(2.0, c.output(1))}; }

}  // namespace

namespace op {
constinit OpInfo view_dtype = define<BitView, infer_view>({.schema = "view.dtype(Tensor input, DType dtype) -> Tensor",
    .doc = "The bits of the elements, seen as elements of another dtype; a copy. The last extent grows or shrinks where sizes differ.",
    .no_grad = "bits have none",
    .torch = "lambda x, dtype: x.detach().contiguous().view(dtype)",
    .example = "pyburn.tensor([1.]).view(pyburn.int32)",
    .samples = R"(
t(2, 3), i32
t(2, 3), u8
t(2, 4), f64
t(2, 4, dtype=i16), f32
t(3, dtype=f64), i64
t(), i32
t(0, 3), i32
t(2, 3), i16
t(3, 2).T, i32
t(2, 1).expand(2, 3), i32
t(), i64 ! without axes
t(2, 3), f64 ! multiple)"});
constinit OpInfo frexp = define<NoAttrs, infer_frexp, grad_frexp>({.schema = "frexp(Tensor input) -> (Tensor mantissa, Tensor exponent)",
    .doc = "Mantissas from [0.5, 1) with the sign of the elements, and exponents: input is mantissa * 2^exponent.",
    .saves = later_outputs,
    .example = "pyburn.frexp(pyburn.tensor([1., 6.]))",
    .samples = R"(
t(2, 3)
t()
t(0, 3)
t(4, 3).T
t(2, 1).expand(2, 5)
t(5, dtype=f64)
t(5, dtype=f16)
tensor([0., 1., 0.5, 1000., -3.])
t(5, dtype=i64) ! floating)"});
}  // namespace op

void register_bits(OpTable& table) { table.add({&op::view_dtype, &op::frexp}); }

}  // namespace pyburn
