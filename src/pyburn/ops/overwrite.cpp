// Copies of a tensor with a part of it, given as for a view, overwritten.
#include "pyburn/ops/generated/overwrite.h"

#include "pyburn/ops/copy.h"
#include "pyburn/ops/generated/copy.h"
#include "pyburn/ops/generated/movement.h"
#include "pyburn/ops/generated/views.h"
#include "pyburn/ops/rules.h"

namespace pyburn {
namespace {

constinit FunctionInfo functions[] = {
    {.schema = "select_scatter(Tensor input, Tensor src, int dim, int index) -> Tensor",
        .doc = "Returns a copy of input with src written into select(input, dim, index).",
        .example = "pyburn.select_scatter(pyburn.zeros(2, 2), pyburn.ones(2), 0, 1)",
        .samples = "t(4, 3), t(3), 0, 1\nt(4, 3), t(4), -1, -1\nt(3), t(), 0, 2\nt(0, 3), t(0), 1, 0\nt(3, 4).T, t(3), 0, 2\n"
                   "t(2, 1).expand(2, 5), t(2), 1, 4\nt(4, 3), t(2), 0, 1 ! must match\nt(4, 3), t(3), 0, 4 ! out of bounds"},
    {.schema = "slice_scatter(Tensor input, Tensor src, int dim=0, int? start=None, int? end=None, int step=1) -> Tensor",
        .doc = "Returns a copy of input with src written into input[start:end:step] along dim.",
        .example = "pyburn.slice_scatter(pyburn.zeros(4), pyburn.ones(2), 0, 1, 3)",
        .samples = "t(4, 3), t(4, 3)\nt(4, 3), t(2, 3), 0, 1, 3\nt(4, 7), t(4, 3), 1, 1, None, 2\nt(4), t(0), 0, 3, 1\nt(0, 3), t(0, 3)\n"
                   "t(3, 4).T, t(3, 3), 0, 1\nt(2, 1).expand(2, 5), t(2, 2), 1, 1, 5, 2\nt(4), t(3), 0, 0, 2 ! must match\n"
                   "t(), t() ! dimension",
        .out = true},
    {.schema = "diagonal_scatter(Tensor input, Tensor src, int offset=0, int dim1=0, int dim2=1) -> Tensor",
        .doc = "Returns a copy of input with src written into a diagonal.",
        .example = "pyburn.diagonal_scatter(pyburn.zeros(2, 2), pyburn.ones(2))",
        .samples = "t(3, 3), t(3)\nt(3, 4), t(3), 1\nt(2, 3, 4), t(3, 1), offset=1, dim1=-1, dim2=0\nt(0, 3), t(0)\nt(4, 3).T, t(3), 1\n"
                   "t(3, 1).expand(3, 3), t(3)\nt(3, 3), t(2) ! must match\nt(), t() ! dim out of range"},
    {.schema = "as_strided_scatter(Tensor input, Tensor src, int[] size, int[] stride, int? storage_offset=None) -> Tensor",
        .doc = "Returns a copy of input with src written into as_strided(input, size, stride, storage_offset).",
        .torch = "lambda x, src, size, stride, storage_offset=0: (lambda c: (c.as_strided(size, stride, storage_offset).copy_(src), "
                 "c)[1])(x.clone())",  // the gradient of PyTorch's own is that of the other part
        .example = "pyburn.as_strided_scatter(pyburn.zeros(4), pyburn.ones(2), (2,), (2,))",
        .samples =
            "t(3, 4), t(2, 2), (2, 2), (4, 1)\nt(3, 4), t(2, 3), (2, 3), (1, 2), 1\nt(6), t(2), (2,), (2,), storage_offset=3\nt(), t(), "
            "(), ()\nt(0), t(0, 2), (0, 2), (2, 1)\nt(3, 4), t(4, 3).T, (3, 4), (4, 1)\nt(3, 4), t(2, 1).expand(2, 2), (2, 2), (4, "
            "1)\nt(6), t(3), (2,), (2,) ! must match\nt(4), t(4, 4), (4, 4), (4, 1) ! out of bounds"},
};

// `part` is a view of `whole`, which nothing else references yet.
TensorHandle overwritten(const TensorHandle& whole, const TensorHandle& part, const TensorHandle& src, const char* op) {
  require(part.shape() == src.shape(), "[{}] the shape of src must match the part that it overwrites: got {} for {}", op, src.shape(),
      part.shape());
  copy_into(part, src);
  return whole;
}

}  // namespace

TensorHandle fn::select_scatter(const TensorHandle& input, const TensorHandle& src, int64_t dim, int64_t index) {
  const TensorHandle whole = clone(input);
  return overwritten(whole, select(whole, dim, index), src, "select_scatter");
}
TensorHandle fn::slice_scatter(const TensorHandle& input, const TensorHandle& src, int64_t dim, std::optional<int64_t> start,
    std::optional<int64_t> end, int64_t step) {
  const TensorHandle whole = clone(input);
  return overwritten(whole, slice(whole, dim, start, end, step), src, "slice_scatter");
}
TensorHandle fn::diagonal_scatter(const TensorHandle& input, const TensorHandle& src, int64_t offset, int64_t dim1, int64_t dim2) {
  const TensorHandle whole = clone(input);
  return overwritten(whole, diagonal(whole, offset, dim1, dim2), src, "diagonal_scatter");
}

TensorHandle fn::as_strided_scatter(
    const TensorHandle& input, const TensorHandle& src, const Dims& size, const Dims& stride, std::optional<int64_t> storage_offset) {
  const TensorHandle whole = clone(input);
  return overwritten(whole, as_strided(whole, size, stride, storage_offset), src, "as_strided_scatter");
}

void register_overwrite(OpTable& table) { table.add(functions); }

}  // namespace pyburn
