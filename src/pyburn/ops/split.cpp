// Tensors cut into pieces along an axis. The pieces are views.
#include "pyburn/ops/generated/split.h"

#include "pyburn/ops/generated/movement.h"
#include "pyburn/ops/rules.h"
#include "pyburn/runtime/transfer.h"
#include "pyburn/support/checked.h"

namespace pyburn {
namespace {

constinit FunctionInfo functions[] = {
    {.schema = "unbind(Tensor input, int dim=0) -> Tensor[]",
        .doc = "Removes the dimension dim and returns a tuple of views, one per index.",
        .example = "pyburn.unbind(pyburn.tensor([[1, 2], [3, 4]]), 1)",
        .samples =
            "t(3, 2)\nt(3, 2), 1\nt(2, 3, 2), dim=-1\nt(2, 0)\nt(2, 3).T\nt(2, 1).expand(2, 3), 1\nt(3, dtype=i64)\nt() ! dimension\n"
            "t(3), 1 ! dim out of range"},
    {.schema = "split(Tensor input, int split_size_or_sections, int dim=0) -> Tensor[]",
        .doc = "Splits input along dim into chunks of the given size; the last one may be smaller. Returns views.",
        .example = "pyburn.split(pyburn.arange(5), 2)",
        .samples = "t(5), 2\nt(4, 6), 3, 1\nt(4, 6), 4, dim=-1\nt(0, 2), 3\nt(5, 2).T, 2, 1\nt(2, 1).expand(2, 3), 2, 1\nt(4), 9\n"
                   "t(), 2 ! dimension\nt(4), 0 ! split_size\nt(4), -1 ! split_size"},
    {.schema = "split.sizes(Tensor input, int[] split_size_or_sections, int dim=0) -> Tensor[]",
        .doc = "Splits input along dim into chunks of the given sizes. Returns views.",
        .torch = "torch.split",
        .example = "pyburn.split(pyburn.arange(5), [1, 4])",
        .samples = "t(5), [2, 3]\nt(4, 6), [1, 0, 5], 1\nt(4, 6), [6], dim=-1\nt(0, 2), [0]\nt(5, 2).T, [2, 3], 1\n"
                   "t(2, 1).expand(2, 3), [1, 2], 1\nt(), [1] ! dimension\nt(4), [1, 2] ! sum\nt(4), [5, -1] ! negative"},
    {.schema = "split_with_sizes(Tensor input, int[] split_sizes, int dim=0) -> Tensor[]",
        .doc = "Splits input along dim into chunks of the given sizes. Returns views.",
        .example = "pyburn.split_with_sizes(pyburn.arange(5), [1, 4])",
        .samples = "t(5), [2, 3]\nt(4, 6), [1, 0, 5], 1\nt(4, 6), [6], dim=-1\nt(0, 2), [0]\nt(5, 2).T, [2, 3], 1\n"
                   "t(2, 1).expand(2, 3), [1, 2], 1\nt(), [1] ! dimension\nt(4), [1, 2] ! sum"},
    {.schema = "chunk(Tensor input, int chunks, int dim=0) -> Tensor[]",
        .doc = "Splits input along dim into at most the given number of chunks; the last one may be smaller. Returns views.",
        .example = "pyburn.chunk(pyburn.arange(5), 2)",
        .samples = "t(5), 2\nt(6), 4\nt(4, 6), 3, 1\nt(4, 6), 1, dim=-1\nt(0, 2), 3\nt(5, 2).T, 2, 1\nt(2, 1).expand(2, 3), 2, 1\n"
                   "t(), 2 ! dimension\nt(4), 0 ! chunks"},
    {.schema = "tensor_split(Tensor input, int indices_or_sections, int dim=0) -> Tensor[]",
        .doc = "Splits input along dim into the given number of parts; the first ones are larger by one if needed. Returns views.",
        .example = "pyburn.tensor_split(pyburn.arange(5), 2)",
        .samples = "t(5), 2\nt(7), 4\nt(2), 3\nt(4, 6), 3, 1\nt(0, 2), 3\nt(5, 2).T, 2, dim=-1\nt(2, 1).expand(2, 3), 2, 1\n"
                   "t(), 2 ! dimension\nt(4), 0 ! sections"},
    {.schema = "tensor_split.indices(Tensor input, int[] indices_or_sections, int dim=0) -> Tensor[]",
        .doc = "Splits input along dim at the given indices. Returns views.",
        .torch = "torch.tensor_split",
        .example = "pyburn.tensor_split(pyburn.arange(5), (1, 3))",
        .samples = "t(5), (2, 3)\nt(5), (4, 2, 9)\nt(5), (-2,)\nt(4, 6), (1,), 1\nt(0, 2), (1,)\nt(5, 2).T, (2,), dim=-1\n"
                   "t(2, 1).expand(2, 3), (2,), 1\nt(), (1,) ! dimension"},
    {.schema = "tensor_split.tensor(Tensor input, Tensor tensor_indices_or_sections, int dim=0) -> Tensor[]",
        .doc = "Splits input along dim into a number of parts, or at indices, given as a tensor. Returns views.",
        .torch = "lambda x, at, dim=0: torch.tensor_split(x, at, dim)",
        .example = "pyburn.tensor_split(pyburn.arange(5), pyburn.tensor([1, 3]))",
        .samples = "t(5), tensor([2, 3])\nt(7), tensor(4)\nt(4, 6), tensor([1]), 1\nt(0, 2), tensor([1])\nt(5, 2).T, tensor([2]), dim=-1\n"
                   "t(2, 1).expand(2, 3), tensor(2), 1\nt(), tensor([1]) ! dimension\nt(5), t(2) ! int64"},
    {.schema = "hsplit(Tensor input, int indices_or_sections) -> Tensor[]",
        .doc = "Splits input horizontally into equal parts: along dimension 1, or dimension 0 for 1-d tensors. Returns views.",
        .example = "pyburn.hsplit(pyburn.ones(2, 4), 2)",
        .samples = "t(6), 2\nt(3, 4), 4\nt(0, 2), 2\nt(4, 3).T, 2\nt(2, 1).expand(2, 4), 2\nt(), 1 ! at least 1\nt(5), 2 ! divisible"},
    {.schema = "hsplit.indices(Tensor input, int[] indices_or_sections) -> Tensor[]",
        .doc = "Splits input horizontally at the given indices. Returns views.",
        .torch = "torch.hsplit",
        .example = "pyburn.hsplit(pyburn.ones(2, 4), (1, 3))",
        .samples = "t(6), (2, 3)\nt(3, 4), (1,)\nt(0, 2), (1,)\nt(4, 3).T, (1,)\nt(2, 1).expand(2, 4), (3,)\nt(), (1,) ! at least 1"},
    {.schema = "vsplit(Tensor input, int indices_or_sections) -> Tensor[]",
        .doc = "Splits input vertically into equal parts along dimension 0. Returns views.",
        .example = "pyburn.vsplit(pyburn.ones(4, 2), 2)",
        .samples =
            "t(4, 3), 2\nt(3, 4), 3\nt(2, 0), 2\nt(3, 4).T, 2\nt(2, 1).expand(2, 4), 2\nt(), 1 ! at least 2\nt(5, 2), 2 ! divisible"},
    {.schema = "vsplit.indices(Tensor input, int[] indices_or_sections) -> Tensor[]",
        .doc = "Splits input vertically at the given indices. Returns views.",
        .torch = "torch.vsplit",
        .example = "pyburn.vsplit(pyburn.ones(4, 2), (1,))",
        .samples = "t(4, 3), (2, 3)\nt(3, 4), (1,)\nt(2, 0), (1,)\nt(3, 4).T, (1,)\nt(2, 1).expand(2, 4), (1,)\nt(), (1,) ! at least 2"},
    {.schema = "dsplit(Tensor input, int indices_or_sections) -> Tensor[]",
        .doc = "Splits input depth-wise into equal parts along dimension 2. Returns views.",
        .example = "pyburn.dsplit(pyburn.ones(1, 2, 4), 2)",
        .samples = "t(2, 1, 4), 2\nt(2, 2, 3), 3\nt(2, 0, 2), 2\nt(4, 2, 2).permute(2, 1, 0), 2\nt(2, 2, 1).expand(2, 2, 4), 2\n"
                   "t(), 1 ! at least 3\nt(2, 2, 5), 2 ! divisible"},
    {.schema = "dsplit.indices(Tensor input, int[] indices_or_sections) -> Tensor[]",
        .doc = "Splits input depth-wise at the given indices. Returns views.",
        .torch = "torch.dsplit",
        .example = "pyburn.dsplit(pyburn.ones(1, 2, 4), (1,))",
        .samples = "t(2, 1, 4), (2, 3)\nt(2, 2, 3), (1,)\nt(2, 0, 2), (1,)\nt(4, 2, 2).permute(2, 1, 0), (1,)\n"
                   "t(2, 2, 1).expand(2, 2, 4), (2,)\nt(), (1,) ! at least 3"},
};

int axis_of(const TensorHandle& input, int64_t dim, const char* op) {
  require<IndexError>(input.rank() > 0, "[{}] needs at least one dimension: got rank 0", op);
  return normalise_dim(dim, input.rank());
}

// Pieces that begin at `starts`, each up to the next; the last to the end.
Tensors cut(const TensorHandle& input, int axis, const Dims& starts) {
  Tensors pieces;
  for (int64_t i = 0; i < starts.size(); ++i) {
    const int64_t end = i + 1 < starts.size() ? starts[i + 1] : input.shape()[axis];
    pieces.push_back(slice(input, axis, starts[i], end));
  }
  return pieces;
}

// Pieces may be empty, so their number is not bounded by the size of the tensor.
void check_pieces(int64_t pieces, const char* op) {
  constexpr int64_t kMost = 1 << 24;
  require<ValueError>(pieces <= kMost, "[{}] expected at most {} pieces: got {}", op, kMost, pieces);
}

Tensors cut_to_sizes(const TensorHandle& input, const Dims& sizes, int64_t dim, const char* op) {
  const int axis = axis_of(input, dim, op);
  Checked total = 0;
  Tensors pieces;
  for (int64_t n : sizes) {
    require(n >= 0, "[{}] sizes must not be negative: got {}", op, sizes);
    total += n;
  }
  require(total == input.shape()[axis], "[{}] the sizes must sum to {}: got {}", op, input.shape()[axis], sizes);
  total = 0;
  for (int64_t n : sizes) {
    pieces.push_back(slice(input, axis, total, total + n));
    total += n;
  }
  return pieces;
}

int direction(const TensorHandle& input, int axis, const char* op) {
  require(input.rank() > axis, "[{}] expected at least {} dimensions: got {}", op, axis + 1, input.shape());
  return axis;
}
Tensors equal_pieces(const TensorHandle& input, int axis, int64_t sections, const char* op) {
  require(sections > 0 && input.shape()[axis] % sections == 0, "[{}] the size of dimension {} must be divisible: got {} by {}", op, axis,
      input.shape()[axis], sections);
  return tensor_split(input, sections, axis);
}
int across(const TensorHandle& input) { return direction(input, input.rank() <= 1 ? 0 : 1, "hsplit"); }
int down(const TensorHandle& input) {
  direction(input, 1, "vsplit");
  return 0;
}

}  // namespace

Tensors fn::unbind(const TensorHandle& input, int64_t dim) {
  const int axis = axis_of(input, dim, "unbind");
  check_pieces(input.shape()[axis], "unbind");
  Tensors parts;
  for (int64_t i = 0; i < input.shape()[axis]; ++i) parts.push_back(select(input, axis, i));
  return parts;
}
Tensors fn::split(const TensorHandle& input, int64_t split_size, int64_t dim) {
  const int axis = axis_of(input, dim, "split");
  const int64_t n = input.shape()[axis];
  require(split_size > 0 || (split_size == 0 && n == 0), "[split] split_size must be positive: got {}", split_size);
  if (split_size > 0) check_pieces(divide_up(n, split_size), "split");
  Dims starts{0};
  while (split_size > 0 && split_size < n - starts.back()) starts.push_back(starts.back() + split_size);
  return cut(input, axis, starts);
}
Tensors fn::split(const TensorHandle& input, const Dims& sizes, int64_t dim) { return cut_to_sizes(input, sizes, dim, "split"); }
Tensors fn::split_with_sizes(const TensorHandle& input, const Dims& sizes, int64_t dim) {
  return cut_to_sizes(input, sizes, dim, "split_with_sizes");
}
Tensors fn::chunk(const TensorHandle& input, int64_t chunks, int64_t dim) {
  const int axis = axis_of(input, dim, "chunk");
  require(chunks > 0, "[chunk] chunks must be greater than 0: got {}", chunks);
  const int64_t n = input.shape()[axis];
  if (n == 0) {
    check_pieces(chunks, "chunk");
    return cut(input, axis, Dims(chunks, 0));
  }
  return split(input, divide_up(n, chunks), axis);
}
Tensors fn::tensor_split(const TensorHandle& input, int64_t sections, int64_t dim) {
  const int axis = axis_of(input, dim, "tensor_split");
  require(sections > 0, "[tensor_split] sections must be greater than 0: got {}", sections);
  check_pieces(sections, "tensor_split");
  const int64_t n = input.shape()[axis], least = n / sections, larger = n % sections;
  Dims starts;
  for (int64_t i = 0; i < sections; ++i) starts.push_back(i * least + std::min(i, larger));
  return cut(input, axis, starts);
}
Tensors fn::tensor_split(const TensorHandle& input, const Dims& indices, int64_t dim) {
  const int axis = axis_of(input, dim, "tensor_split");
  Dims starts{0};
  starts.append(indices.begin(), indices.end());
  return cut(input, axis, starts);
}
Tensors fn::tensor_split(const TensorHandle& input, const TensorHandle& at, int64_t dim) {
  require<DTypeError>(at.dtype() == DType::int64, "[tensor_split] expected indices of int64: got {}", at.dtype());
  require(at.rank() <= 1, "[tensor_split] expected a number or a vector: got {}", at.shape());
  Dims indices(at.numel(), 0);
  to_host(at, {indices.data(), at.meta()});
  return at.rank() == 0 ? tensor_split(input, indices[0], dim) : tensor_split(input, indices, dim);
}
Tensors fn::hsplit(const TensorHandle& input, int64_t sections) { return equal_pieces(input, across(input), sections, "hsplit"); }
Tensors fn::hsplit(const TensorHandle& input, const Dims& indices) { return tensor_split(input, indices, across(input)); }
Tensors fn::vsplit(const TensorHandle& input, int64_t sections) { return equal_pieces(input, down(input), sections, "vsplit"); }
Tensors fn::vsplit(const TensorHandle& input, const Dims& indices) { return tensor_split(input, indices, down(input)); }
Tensors fn::dsplit(const TensorHandle& input, int64_t sections) {
  return equal_pieces(input, direction(input, 2, "dsplit"), sections, "dsplit");
}
Tensors fn::dsplit(const TensorHandle& input, const Dims& indices) { return tensor_split(input, indices, direction(input, 2, "dsplit")); }

void register_split(OpTable& table) { table.add(functions); }

}  // namespace pyburn
