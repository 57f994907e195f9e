// What elements are made of: their bits, mantissas and exponents.
#include "pyburn/ops/bits.h"

#include "pyburn/ops/generated/binary.h"
#include "pyburn/ops/generated/bits.h"
#include "pyburn/ops/generated/copy.h"
#include "pyburn/ops/rules.h"
#include "pyburn/runtime/device.h"

namespace pyburn {
namespace {

// The layout of elements of another size in the same bytes.
Layout layout_as(const Layout& x, DType from, DType to) {
  const int64_t old_size = size_of(from), new_size = size_of(to);
  if (old_size == new_size) return x;
  const int last = x.rank() - 1;
  require(last >= 0, "a 0-d tensor cannot be viewed as a dtype of another size: got {} as {}", from, to);
  require(x.strides[last] == 1, "the last dimension must be contiguous to be viewed as {}: got {}", to, x);
  Layout y = x;
  const auto scale = [&](int64_t elements, const char* what) {
    require(elements * old_size % new_size == 0, "the {} must be a multiple of {} to be viewed as {}: got {} in {}", what,
        new_size / old_size, to, elements, x);
    return elements * old_size / new_size;
  };
  y.shape[last] = scale(x.shape[last], "last extent");
  y.offset = scale(x.offset, "offset");
  for (int i = 0; i < last; ++i) y.strides[i] = scale(x.strides[i], "stride");
  return y;
}
bool shares_bytes(const TensorHandle& x) { return !current_level() && x.device().backend().capabilities().byte_views && x.storage()->host; }
Meta infer_bits(const BitView& a, Metas in) { return {layout_as(contiguous_layout(in[0].shape), in[0].dtype, a.dtype).shape, a.dtype}; }
MetaList infer_frexp(const NoAttrs&, Metas in) {
  require<DTypeError>(is_floating(in[0].dtype), "expected a floating dtype: got {}", in[0].dtype);
  return {in[0], {in[0].shape, DType::int32}};
}
Grads grad_frexp(const NoAttrs&, const GradContext& c) { return {cast(c.dy() / pow(2.0, c.output(1)), c.dy().dtype())}; }

}  // namespace

namespace op {
constinit OpInfo _view_bits = define<BitView, infer_bits>({.schema = "_view_bits(Tensor input, DType dtype) -> Tensor",
    .doc = "Returns a copy of the bits of the elements, reinterpreted as another dtype.",
    .no_grad = "bits have none",
    .torch = "lambda x, dtype: x.detach().contiguous().view(dtype)",
    .example = "pyburn.tensor([1.]).view(pyburn.int32)",
    .samples = R"(
t(2, 3), i32
t(2, 3), u8
t(2, 4), f64
t(2, 4, dtype=i16), f32
t(), i32
t(0, 3), i32
t(3, 2).T, i32
t(2, 1).expand(2, 3), i32
t(), i64 ! 0-d
t(2, 3), f64 ! multiple)"});
constinit OpInfo frexp = define<NoAttrs, infer_frexp, grad_frexp>({.schema = "frexp(Tensor input) -> (Tensor mantissa, Tensor exponent)",
    .doc = "Decomposes each element into a mantissa in [0.5, 1) and an exponent: input = mantissa * 2^exponent.",
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

namespace {
constinit FunctionInfo functions[] = {
    {.schema = "view.dtype(Tensor input, DType dtype) -> Tensor",
        .doc = "Reinterprets the bytes of input as another dtype. If the element sizes differ, the last dimension grows or shrinks. "
               "Returns a view where the backend's memory allows it.",
        .torch = "lambda x, dtype: x.detach().view(dtype)",
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
t(1, 4).expand(3, 4), f64
t(3, 4)[:, 2:], f64
t(4, 3)[1:], u8
t(2, 3), f32
t(), i64 ! 0-d
t(2, 3), f64 ! multiple
t(2, 4)[:, 1:3], f64 ! offset
t(2, 3)[:, :2], f64 ! stride
t(4, 2).T, u8 ! contiguous)"},
};
}

TensorHandle fn::view(const TensorHandle& input, DType dtype) {
  Layout layout = layout_as(input.layout(), input.dtype(), dtype);
  if (!shares_bytes(input)) return _view_bits(input, dtype);
  TensorHandle y = make_tensor(input.device(), dtype, std::move(layout), input.impl()->storage);
  for (const Flag f : {Flag::inference, Flag::untracked}) y.set(f, input.has(f));
  return y;
}

void register_bits(OpTable& table) {
  table.add({&op::_view_bits, &op::frexp});
  table.add(functions);
}

}  // namespace pyburn
