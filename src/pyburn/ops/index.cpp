// Reading and writing through an index.
#include "pyburn/ops/index.h"

#include "pyburn/ops/rules.h"

namespace pyburn {
namespace {

void check_index(const Meta& index) {
  require<DTypeError>(index.dtype == DType::int64 || index.dtype == DType::int32, "expected an int32 or int64 index: got {}", index.dtype);
  require(index.shape.rank() <= 1, "expected an index of one axis: got {}", index.shape);
}
Meta infer_select(const IndexAxis& a, Metas in) {
  check_index(in[1]);
  check_dim(a.dim, in[0].shape.rank());
  Shape shape = in[0].shape;
  if (shape.rank() > 0) shape[a.dim] = in[1].shape.numel();
  return {shape, in[0].dtype};
}
Meta infer_add(const IndexAxis& a, Metas in) {
  check_index(in[1]);
  Shape expected = in[0].shape;
  require(expected.rank() > 0, "expected at least one axis: got rank 0");
  check_dim(a.dim, expected.rank());
  expected[a.dim] = in[1].shape.numel();
  require(in[2].shape == expected, "source does not fit: got {} for {}", in[2].shape, expected);
  require<DTypeError>(in[2].dtype == in[0].dtype, "expected equal dtypes: got {} and {}", in[0].dtype, in[2].dtype);
  return in[0];
}
Grads grad_select(const IndexAxis& a, const GradContext& c) {
  const Tensor zero = zeros(c.meta(0).shape, c.meta(0).dtype, &c.dy().device(), false);
  return {c.meta(0).shape.rank() == 0 ? reshape(c.dy(), Dims{}) : index_add(zero, a.dim, c.input(1), c.dy())};
}
Grads grad_add(const IndexAxis& a, const GradContext& c) {
  return {c.dy(), Tensor(), c.needs(2) ? index_select(c.dy(), a.dim, c.input(1)) : Tensor()};
}

}  // namespace

namespace op {
constinit OpInfo nonzero = define<NoAttrs, nullptr>({.schema = "nonzero(Tensor input) -> Tensor",
    .doc = "The indices of the elements that are not zero, a row each.",
    .kind = Kind::dynamic,
    .no_grad = "the result is an index",
    .example = "pyburn.nonzero(pyburn.tensor([0., 3., 0., 4.]))",
    .samples = R"(
t(5, dtype=b8)
t(3, 4, dtype=b8)
t(3, 4, dtype=i64)
t(2, 3)
t()
t(0, 3)
t(4, 3, dtype=b8).T
t(2, 1, dtype=b8).expand(2, 3)
1 ! Tensor)"});
constinit OpInfo index_select =
    define<IndexAxis, infer_select, grad_select>({.schema = "index_select(Tensor input, int dim, Tensor index) -> Tensor",
        .doc = "The parts of input along dim that index names, in its order.",
        .kind = Kind::gather,
        .saves = inputs,
        .example = "pyburn.index_select(pyburn.arange(5), 0, pyburn.tensor([4, 0]))",
        .samples = R"(
t(4, 3), 0, index(5, below=4)
t(4, 3), -1, index(2, below=3)
t(3, 4).T, 0, index(2, below=4)
t(2, 1).expand(2, 4), 1, index(3, below=4)
t(), 0, index(1, below=1)
t(4, 0), 0, index(2, below=4)
t(4, 3), 0, index(0, below=4)
t(4, dtype=i64), 0, index(2, below=4)
t(4, dtype=f16), 0, index(2, below=4)
t(4, 3), 2, index(2, below=3) ! dim out of range
t(4, 3), 0, t(2) ! index
t(4, 3), 0, tensor([7]) ! out of range)"});
constinit OpInfo index_add =
    define<IndexAxis, infer_add, grad_add>({.schema = "index_add(Tensor input, int dim, Tensor index, Tensor source) -> Tensor",
        .doc = "input, with the parts of source added where index says; an index may repeat.",
        .kind = Kind::gather,
        .saves = inputs,
        .example = "pyburn.index_add(pyburn.zeros(3), 0, pyburn.tensor([0, 0, 2]), pyburn.ones(3))",
        .samples = R"(
t(4, 3), 0, index(5, below=4), t(5, 3)
t(4, 3), -1, index(2, below=3), t(4, 2)
t(3, 4).T, 0, index(2, below=4), t(2, 3)
t(2, 1).expand(2, 4), 1, index(3, below=4), t(2, 3)
t(4, 0), 0, index(2, below=4), t(2, 0)
t(4, dtype=i64), 0, index(2, below=4), t(2, dtype=i64)
t(), 0, index(1, below=1), t(1) ! axis
t(4, 3), 0, index(2, below=4), t(3, 3) ! does not fit
t(4, 3), 0, tensor([7]), t(1, 3) ! out of range)"});
}  // namespace op

void register_index(OpTable& table) { table.add({&op::nonzero, &op::index_select, &op::index_add}); }

}  // namespace pyburn
