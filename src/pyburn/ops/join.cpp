// Concatenation of tensors along a dimension.
#include "pyburn/ops/join.h"

#include "pyburn/ops/copy.h"
#include "pyburn/ops/generated/axes.h"
#include "pyburn/ops/generated/copy.h"
#include "pyburn/ops/generated/fill.h"
#include "pyburn/ops/generated/join.h"
#include "pyburn/ops/generated/movement.h"
#include "pyburn/ops/rules.h"

namespace pyburn {

Join Join::from(const Tensors& tensors, int64_t dim) {
  require<ValueError>(!tensors.empty(), "expected a non-empty list of Tensors");
  for (const TensorHandle& t : tensors)
    if (!is_left_out(t.shape())) return {t.rank() ? normalise_dim(dim, t.rank()) : 0};
  return {normalise_dim(dim, 1)};
}

namespace {

Meta infer_cat(const Join& a, Metas in) {
  require<ValueError>(!in.empty(), "expected a non-empty list of Tensors");
  const Meta* first = nullptr;
  Meta result = in[0];
  for (size_t i = 0; i < in.size(); ++i) {
    const Shape& s = in[i].shape;
    require(s.rank() > 0, "a 0-d tensor cannot be concatenated: got one at position {}", int64_t(i));
    if (is_left_out(s)) continue;
    if (!first) {
      first = &in[i];
      result = *first;
      check_dim(a.dim, s.rank());
      continue;
    }
    require(s.rank() == result.shape.rank(), "tensors must have the same number of dimensions: got {} and {}", result.shape, s);
    for (int k = 0; k < s.rank(); ++k)
      require(k == a.dim || s[k] == result.shape[k], "sizes must match except in dimension {}: expected {} but got {} for tensor number {}",
          a.dim, result.shape[k], s[k], int64_t(i));
    result.shape[a.dim] += s[a.dim];
  }
  checked_numel(result.shape);
  return result;
}
Grads grad_cat(const Join& a, const GradContext& c) {
  Grads grads;
  int64_t start = 0;
  for (int i = 0; i < c.inputs(); ++i) {
    const Shape& s = c.meta(i).shape;
    const int64_t n = is_left_out(s) ? 0 : s[a.dim];
    if (!c.needs(i)) grads.push_back({});
    else if (is_left_out(s)) grads.push_back(zeros(s, c.meta(i).dtype, &c.dy().device(), false));
    else grads.push_back(slice(c.dy(), a.dim, start, start + n));
    start += n;
  }
  return grads;
}

// For backends that cannot take so many tensors at once: each part is written where it belongs.
TensorHandle decompose_cat(const Join& a, Inputs in) {
  SmallVector<Meta, 4> metas;
  for (const TensorHandle* t : in) metas.push_back(t->meta());
  const Meta result = infer_cat(a, {metas.data(), size_t(metas.size())});
  const TensorHandle y = empty(result.shape, result.dtype, &in[0]->device());
  int64_t start = 0;
  for (const TensorHandle* t : in) {
    if (is_left_out(t->shape())) continue;
    const int64_t n = t->shape()[a.dim];
    copy_into(slice(y, a.dim, start, start + n), *t);
    start += n;
  }
  return y;
}

constexpr const char* kCat = R"(
[t(2, 3), t(1, 3)]
[t(2, 3), t(2, 1)], 1
[t(2, 3), t(2, 2)], dim=-1
[t(2, 2, 3), t(2, 1, 3), t(2, 2, 3)], 1
[t(4)]
[t(0), t(2, 3)]
[t(0), t(0)]
[t(0, 3), t(2, 3)]
[t(3, 2).T, t(1, 3)]
[t(2, 1).expand(2, 3), t(2, 3)], 1
[t(3, dtype=f64), t(2, dtype=i64)]
[t(3, dtype=f16), t(2, dtype=f16)]
[t(3, dtype=b8), t(2, dtype=u8)]
[t(), t(2)] ! 0-d
[t(2, 3), t(2, 2)] ! sizes must match
[t(2, 3), t(2)] ! number of dimensions
[t(2, 3)], 2 ! dim out of range
[] ! non-empty)";
constexpr const char* kBesides =
    "[t(2, 3), t(2, 3)]\n[t(4), t(2)]\n[t(), t()]\n[t(0, 2), t(0, 2)]\n[t(3, 2).T, t(2, 3)]\n[t(2, 1).expand(2, 3), t(2, 3)]\n[] ! "
    "non-empty";
constexpr const char* kOnTop =
    "[t(2, 3), t(2, 3)]\n[t(4), t(4)]\n[t(), t()]\n[t(0, 2), t(0, 2)]\n[t(3, 2).T, t(2, 3)]\n[t(2, 1).expand(2, 3), t(2, 3)]\n[] ! "
    "non-empty";

}  // namespace

namespace op {
constinit OpInfo cat = define<Join, infer_cat, grad_cat, decompose_cat>({.schema = "cat(Tensor[] tensors, int dim=0) -> Tensor",
    .doc = "Concatenates tensors along an existing dimension.",
    .cast = Cast::promote,
    .example = "pyburn.cat([pyburn.ones(2), pyburn.zeros(1)])",
    .samples = kCat});
}

namespace {
constinit FunctionInfo functions[] = {
    {.schema = "concat(Tensor[] tensors, int dim=0) -> Tensor",
        .doc = "Concatenates tensors along an existing dimension; alias of cat.",
        .example = "pyburn.concat([pyburn.ones(2), pyburn.zeros(1)])",
        .samples = kCat,
        .out = true},
    {.schema = "concatenate(Tensor[] tensors, int dim=0) -> Tensor",
        .doc = "Concatenates tensors along an existing dimension; alias of cat.",
        .example = "pyburn.concatenate([pyburn.ones(2), pyburn.zeros(1)])",
        .samples = kCat,
        .out = true},
    {.schema = "stack(Tensor[] tensors, int dim=0) -> Tensor",
        .doc = "Stacks tensors of equal shape along a new dimension.",
        .example = "pyburn.stack([pyburn.ones(2), pyburn.zeros(2)])",
        .samples = "[t(2, 3), t(2, 3)]\n[t(2, 3), t(2, 3)], 1\n[t(2, 3), t(2, 3), t(2, 3)], dim=-1\n[t(), t()]\n[t(0), t(0)]\n"
                   "[t(3, 2).T, t(2, 3)]\n[t(2, 1).expand(2, 3)]\n[t(2, dtype=i64), t(2)]\n[t(2), t(3)] ! equal size\n[] ! non-empty",
        .out = true},
    {.schema = "hstack(Tensor[] tensors) -> Tensor",
        .doc = "Concatenates tensors horizontally: along dimension 1, or dimension 0 for 1-d tensors.",
        .torch = "torch.hstack",
        .example = "pyburn.hstack([pyburn.ones(2), pyburn.zeros(1)])",
        .samples = kBesides,
        .out = true},
    {.schema = "vstack(Tensor[] tensors) -> Tensor",
        .doc = "Concatenates tensors vertically along dimension 0; 1-d tensors become rows.",
        .example = "pyburn.vstack([pyburn.ones(2), pyburn.zeros(2)])",
        .samples = kOnTop,
        .out = true},
    {.schema = "row_stack(Tensor[] tensors) -> Tensor",
        .doc = "Concatenates tensors vertically along dimension 0; alias of vstack.",
        .example = "pyburn.row_stack([pyburn.ones(2), pyburn.zeros(2)])",
        .samples = kOnTop,
        .out = true},
    {.schema = "dstack(Tensor[] tensors) -> Tensor",
        .doc = "Concatenates tensors depth-wise along dimension 2.",
        .example = "pyburn.dstack([pyburn.ones(2), pyburn.zeros(2)]).shape",
        .samples = kOnTop,
        .out = true},
    {.schema = "column_stack(Tensor[] tensors) -> Tensor",
        .doc = "Concatenates tensors horizontally; 1-d tensors become columns.",
        .example = "pyburn.column_stack([pyburn.ones(2), pyburn.zeros(2)])",
        .samples = "[t(2, 3), t(2)]\n[t(4), t(4)]\n[t(), t()]\n[t(0, 2), t(0)]\n[t(3, 2).T, t(2, 3)]\n[t(2, 1).expand(2, 3), t(2)]\n"
                   "[] ! non-empty",
        .out = true},
    {.schema = "block_diag(Tensor[] tensors) -> Tensor",
        .doc = "Creates a block-diagonal matrix from the tensors; 1-d tensors become rows.",
        .torch = "lambda tensors: torch.block_diag(*tensors)",
        .example = "pyburn.block_diag(pyburn.ones(1, 2), pyburn.ones(2, 1))",
        .samples = "[t(2, 3), t(1, 2)]\n[t(2), t()]\n[t(0, 2), t(1, 1)]\n[t(3, 2).T, t(2, dtype=i64)]\n[t(2, 1).expand(2, 3)]\n"
                   "[t(2, 2, 2)] ! at most 2"},
    {.schema = "cartesian_prod(Tensor[] tensors) -> Tensor",
        .doc = "Returns the Cartesian product of 1-d tensors, one combination per row.",
        .torch = "lambda tensors: torch.cartesian_prod(*tensors)",
        .example = "pyburn.cartesian_prod(pyburn.arange(2), pyburn.arange(3))",
        .samples = "[t(2), t(3)]\n[t(2)]\n[t(2), t(1), t(2)]\n[t(0), t(2)]\n[t(4)[::2], t(3)]\n[t(1).expand(3), t(2)]\n[t(2, 2)] ! 1-d\n"
                   "[t()] ! 1-d\n[] ! non-empty"},
};

TensorHandle as_column(const TensorHandle& t) { return t.rank() <= 1 ? view(contiguous(t), Dims{t.numel(), 1}) : TensorHandle(t); }
}  // namespace

TensorHandle fn::concat(const Tensors& tensors, int64_t dim) { return cat(tensors, dim); }
TensorHandle fn::concatenate(const Tensors& tensors, int64_t dim) { return cat(tensors, dim); }
TensorHandle fn::stack(const Tensors& tensors, int64_t dim) {
  require<ValueError>(!tensors.empty(), "[stack] expects a non-empty list of Tensors");
  const int axis = normalise_dim(dim, tensors[0].rank() + 1);
  Tensors rows;
  for (const TensorHandle& t : tensors) {
    require(t.shape() == tensors[0].shape(), "[stack] expects each tensor to be equal size: got {} and {}", tensors[0].shape(), t.shape());
    rows.push_back(unsqueeze(t, axis));
  }
  return cat(rows, axis);
}
TensorHandle fn::hstack(const Tensors& tensors) {
  const Tensors wide = each(tensors, [](const TensorHandle& t) { return atleast_1d(t); });
  return cat(wide, !wide.empty() && wide[0].rank() > 1 ? 1 : 0);
}
TensorHandle fn::vstack(const Tensors& tensors) {
  return cat(each(tensors, [](const TensorHandle& t) { return atleast_2d(t); }), 0);
}
TensorHandle fn::row_stack(const Tensors& tensors) { return vstack(tensors); }
TensorHandle fn::dstack(const Tensors& tensors) {
  return cat(each(tensors, [](const TensorHandle& t) { return atleast_3d(t); }), 2);
}
TensorHandle fn::column_stack(const Tensors& tensors) { return cat(each(tensors, as_column), 1); }

TensorHandle fn::block_diag(const Tensors& tensors) {
  require<ValueError>(!tensors.empty(), "[block_diag] expects a non-empty list of Tensors");
  int64_t rows = 0, columns = 0;
  DType dtype = tensors[0].dtype();
  for (const TensorHandle& t : tensors) {
    require(t.rank() <= 2, "[block_diag] expected tensors with at most 2 dimensions: got {}", t.shape());
    rows += t.rank() == 2 ? t.shape()[0] : 1;
    columns += t.rank() ? t.shape().back() : 1;
    dtype = promote(dtype, t.dtype());
  }
  TensorHandle result = zeros(Dims{rows, columns}, dtype, &tensors[0].device(), false);
  int64_t row = 0, column = 0;
  for (const TensorHandle& t : tensors) {
    const TensorHandle block = atleast_2d(t);
    const int64_t height = block.shape()[0], width = block.shape()[1];
    copy_into(narrow(narrow(result, 0, row, height), 1, column, width), block);
    row += height;
    column += width;
  }
  return result;
}

TensorHandle fn::cartesian_prod(const Tensors& tensors) {
  require<ValueError>(!tensors.empty(), "[cartesian_prod] expects a non-empty list of Tensors");
  for (const TensorHandle& t : tensors) require(t.rank() == 1, "[cartesian_prod] expected 1-d tensors: got {}", t.shape());
  if (tensors.size() == 1) return tensors[0];
  Tensors columns;
  for (const TensorHandle& t : meshgrid(tensors, "ij")) columns.push_back(reshape(t, Dims{t.numel()}));
  return stack(columns, 1);
}

void register_join(OpTable& table) {
  table.add({&op::cat});
  table.add(functions);
}

}  // namespace pyburn
