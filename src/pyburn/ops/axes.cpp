// Axes in another order, joined, taken apart or stretched: views, written with those of movement.cpp.
#include "pyburn/ops/generated/axes.h"

#include "pyburn/ops/generated/copy.h"
#include "pyburn/ops/generated/movement.h"
#include "pyburn/ops/movement.h"
#include "pyburn/ops/rules.h"

namespace pyburn {
namespace {

constexpr const char* kMoved =
    "t(2, 3, 4), 0, 2\nt(2, 3, 4), (0, 1), (-1, 0)\nt(2, 3, 4), source=1, destination=0\nt(), (), ()\nt(0, 2), 0, 1\nt(2, 3).T, 0, 1\n"
    "t(2, 1).expand(2, 3), 0, 1\nt(2, 3), 0, 2 ! dim out of range\nt(2, 3), (0, 0), (0, 1) ! twice\nt(2, 3), (0, 1), 1 ! same length";
constexpr const char* kSwapped =
    "t(2, 3), 0, 1\nt(2, 3, 4), -1, 0\nt(), 0, 0\nt(0, 2), 0, 1\nt(2, 3).T, 1, 0\nt(2, 1).expand(2, 3), 0, 1\nt(2), 0, 1 ! dim out of "
    "range";
constexpr const char* kOne = "t(2, 3)\nt(4)\nt()\nt(0, 2)\nt(2, 3).T\nt(2, 1).expand(2, 3)\n1 ! Tensor";
constexpr const char* kSeveral = "[t(2, 3), t(4)]\n[t()]\n[t(0, 2)]\n[t(2, 3).T, t()]\n[t(2, 1).expand(2, 3)]\n[1, 2] ! Tensor";

constinit FunctionInfo functions[] = {
    {.schema = "movedim(Tensor input, int[] source, int[] destination) -> Tensor",
        .doc = "Moves the dimensions in source to the positions in destination; the others keep their order. Returns a view.",
        .example = "pyburn.movedim(pyburn.ones(2, 3, 4), 0, 2).shape",
        .samples = kMoved},
    {.schema = "moveaxis(Tensor input, int[] source, int[] destination) -> Tensor",
        .doc = "Alias of movedim.",
        .example = "pyburn.moveaxis(pyburn.ones(2, 3, 4), 0, 2).shape",
        .samples = kMoved},
    {.schema = "swapaxes(Tensor input, int axis0, int axis1) -> Tensor",
        .doc = "Swaps two dimensions; alias of transpose. Returns a view.",
        .example = "pyburn.swapaxes(pyburn.ones(2, 3), 0, 1).shape",
        .samples = kSwapped},
    {.schema = "swapdims(Tensor input, int dim0, int dim1) -> Tensor",
        .doc = "Swaps two dimensions; alias of transpose. Returns a view.",
        .example = "pyburn.swapdims(pyburn.ones(2, 3), 0, 1).shape",
        .samples = kSwapped},
    {.schema = "adjoint(Tensor input) -> Tensor",
        .doc = "Transposes the last two dimensions. Returns a view.",
        .example = "pyburn.adjoint(pyburn.ones(2, 3)).shape",
        .samples = "t(2, 3)\nt(2, 3, 4)\nt(0, 2)\nt(2, 3).T\nt(2, 1).expand(2, 3)\nt() ! at least 2"},
    {.schema = "ravel(Tensor input) -> Tensor",
        .doc = "Flattens input to one dimension. Returns a view if input is contiguous, else a copy.",
        .example = "pyburn.ravel(pyburn.ones(2, 3)).shape",
        .samples = kOne},
    {.schema = "unflatten(Tensor input, int dim, int[] sizes) -> Tensor",
        .doc = "Splits the dimension dim into several dimensions of the given sizes, one of which may be -1.",
        .example = "pyburn.unflatten(pyburn.ones(6, 2), 0, (2, 3)).shape",
        .samples = "t(6, 2), 0, (2, 3)\nt(3, 4), -1, (2, -1)\nt(0, 2), 0, (0, 5)\nt(2, 6).T, 0, (3, 2)\nt(2, 1).expand(2, 4), 1, (2, 2)\n"
                   "t(), 0, (1,) ! dimension\nt(6), 0, (4, 2) ! size is invalid\nt(6), 0, () ! non-empty"},
    {.schema = "broadcast_to(Tensor input, int[] size) -> Tensor",
        .doc = "Broadcasts input to the given shape without a copy; alias of expand.",
        .example = "pyburn.broadcast_to(pyburn.ones(3, 1), (3, 4)).shape",
        .samples = "t(3, 1), (3, 4)\nt(3), (2, 3)\nt(), (2, 2)\nt(1, 0), (2, 0)\nt(3, 1, 2).permute(2, 1, 0), (2, 4, 3)\n"
                   "t(2, 1).expand(2, 3), (2, 2, 3)\nt(2, 3), (2, 4) ! must match"},
    {.schema = "broadcast_tensors(Tensor[] tensors) -> Tensor[]",
        .doc = "Broadcasts the tensors to their common shape.",
        .torch = "lambda tensors: torch.broadcast_tensors(*tensors)",
        .example = "pyburn.broadcast_tensors(pyburn.ones(3, 1), pyburn.ones(2))",
        .samples = "[t(3, 1), t(2)]\n[t(2, 2)]\n[t(), t(3)]\n[t(0, 1), t(2)]\n[t(2, 3).T, t()]\n[t(2, 1).expand(2, 3), t(3)]\n"
                   "[t(2), t(3)] ! broadcast"},
    {.schema = "view_as(Tensor input, Tensor other) -> Tensor",
        .doc = "Returns a view of input with the shape of other.",
        .torch = "lambda x, y: x.view_as(y)",
        .example = "pyburn.ones(6).view_as(pyburn.ones(2, 3)).shape",
        .samples =
            "t(6), t(2, 3)\nt(), t(1)\nt(0, 2), t(2, 0)\nt(2, 3), t(2, 3).T\nt(4, 1).expand(4, 3), t(2, 2, 3)\nt(5), t(2, 3) ! size"},
    {.schema = "reshape_as(Tensor input, Tensor other) -> Tensor",
        .doc = "Returns input with the shape of other: a view where possible, else a copy.",
        .torch = "lambda x, y: x.reshape_as(y)",
        .example = "pyburn.ones(6).reshape_as(pyburn.ones(2, 3)).shape",
        .samples = "t(6), t(2, 3)\nt(), t(1)\nt(0, 2), t(2, 0)\nt(2, 3).T, t(6)\nt(4, 1).expand(4, 3), t(2, 6)\nt(5), t(2, 3) ! size"},
    {.schema = "expand_as(Tensor input, Tensor other) -> Tensor",
        .doc = "Expands input to the shape of other without a copy.",
        .torch = "lambda x, y: x.expand_as(y)",
        .example = "pyburn.ones(3, 1).expand_as(pyburn.ones(3, 4)).shape",
        .samples =
            "t(3, 1), t(3, 2)\nt(), t(2)\nt(1, 0), t(2, 0)\nt(2, 3).T, t(4, 3, 2)\nt(2, 1).expand(2, 3), t(2, 3)\nt(2), t(3) ! must match"},
    {.schema = "atleast_1d(Tensor input) -> Tensor",
        .doc = "Returns a view of input with at least one dimension.",
        .example = "pyburn.atleast_1d(pyburn.tensor(1.)).shape",
        .samples = kOne},
    {.schema = "atleast_1d.tensors(Tensor[] tensors) -> Tensor[]",
        .doc = "Returns views of the tensors with at least one dimension each.",
        .torch = "lambda tensors: torch.atleast_1d(*tensors)",
        .example = "pyburn.atleast_1d(pyburn.tensor(1.), pyburn.ones(2))",
        .samples = kSeveral},
    {.schema = "atleast_2d(Tensor input) -> Tensor",
        .doc = "Returns a view of input with at least two dimensions; new dimensions are added in front.",
        .example = "pyburn.atleast_2d(pyburn.ones(3)).shape",
        .samples = kOne},
    {.schema = "atleast_2d.tensors(Tensor[] tensors) -> Tensor[]",
        .doc = "Returns views of the tensors with at least two dimensions each.",
        .torch = "lambda tensors: torch.atleast_2d(*tensors)",
        .example = "pyburn.atleast_2d(pyburn.tensor(1.), pyburn.ones(2))",
        .samples = kSeveral},
    {.schema = "atleast_3d(Tensor input) -> Tensor",
        .doc = "Returns a view of input with at least three dimensions: (n) becomes (1, n, 1) and (m, n) becomes (m, n, 1).",
        .example = "pyburn.atleast_3d(pyburn.ones(3)).shape",
        .samples = kOne},
    {.schema = "atleast_3d.tensors(Tensor[] tensors) -> Tensor[]",
        .doc = "Returns views of the tensors with at least three dimensions each.",
        .torch = "lambda tensors: torch.atleast_3d(*tensors)",
        .example = "pyburn.atleast_3d(pyburn.tensor(1.), pyburn.ones(2))",
        .samples = kSeveral},
    {.schema = "meshgrid(Tensor[] tensors, *, str? indexing=None) -> Tensor[]",
        .doc = "Creates coordinate grids from 1-d tensors: one expanded view per dimension. With indexing='xy' the first two dimensions "
               "are swapped.",
        .torch = "lambda tensors, indexing='ij': torch.meshgrid(*tensors, indexing=indexing)",
        .example = "pyburn.meshgrid(pyburn.arange(2), pyburn.arange(3), indexing='ij')",
        .samples =
            "[t(2), t(3)]\n[t(2), t(3)], indexing='xy'\n[t(2), t(3), t(2)], indexing='xy'\n[t(), t(2)]\n[t(0), t(2)]\n[t(4)[::2], t(3)]\n"
            "[t(1).expand(3), t(2)], indexing='ij'\n[t(2, 2)] ! at most one dimension\n[t(2)], indexing='yx' ! indexing\n[] ! non-empty"},
};

}  // namespace

TensorHandle fn::movedim(const TensorHandle& input, const Dims& source, const Dims& destination) {
  require(source.size() == destination.size(), "[movedim] source and destination must have the same length: got {} and {}", source,
      destination);
  const int places = std::max(input.rank(), 1);  // a scalar counts as one axis, as everywhere
  Dims order(places, -1), moved(places, 0);
  for (int64_t i = 0; i < source.size(); ++i) {
    const int from = normalise_dim(source[i], input.rank()), to = normalise_dim(destination[i], input.rank());
    require(!moved[from] && order[to] < 0, "[movedim] a dimension appears twice: got {} and {}", source, destination);
    moved[from] = 1;
    order[to] = from;
  }
  int next = 0;
  for (int64_t& axis : order) {
    if (axis >= 0) continue;
    while (moved[next]) ++next;
    axis = next++;
  }
  if (input.rank() == 0) order.clear();
  return permute(input, order);
}
TensorHandle fn::moveaxis(const TensorHandle& input, const Dims& source, const Dims& destination) {
  return movedim(input, source, destination);
}
TensorHandle fn::swapaxes(const TensorHandle& input, int64_t axis0, int64_t axis1) { return transpose(input, axis0, axis1); }
TensorHandle fn::swapdims(const TensorHandle& input, int64_t dim0, int64_t dim1) { return transpose(input, dim0, dim1); }
TensorHandle fn::adjoint(const TensorHandle& input) {
  require(input.rank() >= 2, "[adjoint] expected at least 2 dimensions: got {}", input.shape());
  return transpose(input, -2, -1);
}
TensorHandle fn::ravel(const TensorHandle& input) { return reshape(contiguous(input), Dims{input.numel()}); }
TensorHandle fn::unflatten(const TensorHandle& input, int64_t dim, const Dims& sizes) {
  require<IndexError>(input.rank() > 0, "[unflatten] expected at least one dimension: got rank 0");
  require(!sizes.empty(), "[unflatten] sizes must be non-empty");
  const int axis = normalise_dim(dim, input.rank());
  Dims shape;
  for (int i = 0; i < input.rank(); ++i) {
    if (i != axis) {
      shape.push_back(input.shape()[i]);
      continue;
    }
    const Shape parts = infer_size(sizes, input.shape()[i]);
    shape.append(parts.begin(), parts.end());
  }
  return reshape(input, shape);
}
TensorHandle fn::broadcast_to(const TensorHandle& input, const Dims& size) { return expand(input, size); }
Tensors fn::broadcast_tensors(const Tensors& tensors) {
  Shape common;
  for (const TensorHandle& t : tensors) common = broadcast_shapes(common, t.shape());
  Tensors results;
  for (const TensorHandle& t : tensors) results.push_back(t.shape() == common ? t : expand(t, common));
  return results;
}
TensorHandle fn::view_as(const TensorHandle& input, const TensorHandle& other) { return view(input, other.shape()); }
TensorHandle fn::reshape_as(const TensorHandle& input, const TensorHandle& other) { return reshape(input, other.shape()); }
TensorHandle fn::expand_as(const TensorHandle& input, const TensorHandle& other) { return expand(input, other.shape()); }

TensorHandle fn::atleast_1d(const TensorHandle& input) { return input.rank() ? TensorHandle(input) : unsqueeze(input, 0); }
TensorHandle fn::atleast_2d(const TensorHandle& input) { return input.rank() >= 2 ? TensorHandle(input) : unsqueeze(atleast_1d(input), 0); }
TensorHandle fn::atleast_3d(const TensorHandle& input) {
  return input.rank() >= 3 ? TensorHandle(input) : unsqueeze(atleast_2d(input), -1);
}
Tensors fn::atleast_1d(const Tensors& tensors) { return each(tensors, atleast_1d); }
Tensors fn::atleast_2d(const Tensors& tensors) { return each(tensors, atleast_2d); }
Tensors fn::atleast_3d(const Tensors& tensors) { return each(tensors, atleast_3d); }

Tensors fn::meshgrid(const Tensors& tensors, const std::optional<std::string>& indexing) {
  require<ValueError>(!tensors.empty(), "[meshgrid] expects a non-empty list of tensors");
  const std::string order = indexing.value_or("ij");
  require<ValueError>(order == "ij" || order == "xy", "[meshgrid] indexing must be 'ij' or 'xy': got '{}'", order);
  const bool exchanged = order == "xy" && tensors.size() >= 2;
  auto place = [&](int64_t i) { return exchanged && i < 2 ? 1 - i : i; };  // the axis of the result that tensor i runs along
  Dims size(tensors.size(), 0);
  for (int64_t i = 0; i < tensors.size(); ++i) {
    require(tensors[i].rank() <= 1, "[meshgrid] expected tensors with at most one dimension: got {}", tensors[i].shape());
    size[place(i)] = tensors[i].numel();
  }
  Tensors grid;
  for (int64_t i = 0; i < tensors.size(); ++i) {
    Dims along(tensors.size(), 1);
    along[place(i)] = tensors[i].numel();
    grid.push_back(expand(view(tensors[i], along), size));
  }
  return grid;
}

void register_axes(OpTable& table) { table.add(functions); }

}  // namespace pyburn
