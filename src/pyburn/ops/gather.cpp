// Reading and adding along one axis through an index of the same rank.
#include "pyburn/ops/gather.h"

#include "pyburn/ops/rules.h"

namespace pyburn {
namespace {

void check_index(const AlongAxis& a, const Meta& x, const Meta& index) {
  check_dim(a.dim, x.shape.rank());
  require<DTypeError>(index.dtype == DType::int64 || index.dtype == DType::int32, "expected an int32 or int64 index: got {}", index.dtype);
  require(index.shape.rank() == x.shape.rank(), "index has another rank: got {} for {}", index.shape, x.shape);
  for (int i = 0; i < x.shape.rank(); ++i)
    require(
        i == a.dim || index.shape[i] <= x.shape[i] || index.shape.numel() == 0, "index does not fit: got {} for {}", index.shape, x.shape);
}
Meta infer_gather(const AlongAxis& a, Metas in) {
  check_index(a, in[0], in[1]);
  return {in[1].shape, in[0].dtype};
}
Meta infer_add(const AlongAxis& a, Metas in) {
  check_index(a, in[0], in[1]);
  require<DTypeError>(in[2].dtype == in[0].dtype, "expected equal dtypes: got {} and {}", in[0].dtype, in[2].dtype);
  require(in[2].shape == in[1].shape, "source does not fit the index: got {} for {}", in[2].shape, in[1].shape);
  return in[0];
}
Grads grad_gather(const AlongAxis& a, const GradContext& c) {
  const Tensor zero = zeros(c.meta(0).shape, c.meta(0).dtype, &c.dy().device());
  return {scatter_add(zero, a.dim, c.input(1), c.dy())};
}
Grads grad_add(const AlongAxis& a, const GradContext& c) {
  return {c.dy(), Tensor(), c.needs(2) ? gather(c.dy(), a.dim, c.input(1)) : Tensor()};
}

}  // namespace

namespace op {
constinit OpInfo gather = define<AlongAxis, infer_gather, grad_gather>({.schema = "gather(Tensor input, int dim, Tensor index) -> Tensor",
    .doc = "The elements of input along dim that index names, one by one.",
    .kind = Kind::gather,
    .saves = inputs,
    .example = "pyburn.gather(pyburn.tensor([[1., 2.], [3., 4.]]), 1, pyburn.tensor([[1], [0]]))",
    .samples = R"(
t(4, 3), 0, index(5, 3, below=4)
t(4, 3), -1, index(2, 2, below=3)
t(3, 4).T, 0, index(2, 3, below=4)
t(2, 1).expand(2, 4), 1, index(2, 3, below=4)
t(), 0, index(below=1)
t(4, 0), 0, index(2, 0, below=4)
t(2, 3, dtype=i64), 1, index(2, 1, below=3)
t(2, 3, dtype=f16), 1, index(2, 1, below=3)
t(4, 3), 2, index(2, 3, below=3) ! dim out of range
t(4, 3), 0, index(2, below=3) ! rank
t(4, 3), 0, tensor([[7]]) ! out of range)"});
constinit OpInfo scatter_add =
    define<AlongAxis, infer_add, grad_add>({.schema = "scatter_add(Tensor input, int dim, Tensor index, Tensor src) -> Tensor",
        .doc = "input, with the elements of src added along dim where index says; an index may repeat.",
        .kind = Kind::gather,
        .saves = inputs,
        .in_place = true,
        .example = "pyburn.scatter_add(pyburn.zeros(3), 0, pyburn.tensor([0, 0, 2]), pyburn.ones(3))",
        .samples = R"(
t(4, 3), 0, index(5, 3, below=4), t(5, 3)
t(4, 3), -1, index(2, 2, below=3), t(2, 2)
t(3, 4).T, 0, index(2, 3, below=4), t(2, 3)
t(2, 1).expand(2, 4), 1, index(2, 3, below=4), t(2, 3)
t(), 0, index(below=1), t()
t(4, 0), 0, index(2, 0, below=4), t(2, 0)
t(4, dtype=i64), 0, index(2, below=4), t(2, dtype=i64)
t(4, 3), 0, index(2, 3, below=4), t(3, 3) ! does not fit
t(4, 3), 0, tensor([[7]]), t(1, 1) ! out of range)"});
}  // namespace op

void register_gather(OpTable& table) { table.add({&op::gather, &op::scatter_add}); }

}  // namespace pyburn
