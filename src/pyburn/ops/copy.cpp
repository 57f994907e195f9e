// Copies: to another dtype, into another tensor, to contiguous order.
#include "pyburn/ops/copy.h"

#include "pyburn/ops/generated/copy.h"
#include "pyburn/ops/generated/movement.h"
#include "pyburn/ops/rules.h"
#include "pyburn/runtime/fit_result.h"

namespace pyburn {
namespace {

Meta infer(const CastTo& a, Metas in) { return {in[0].shape, a.dtype}; }
Grads grad_cast(const CastTo&, const GradContext& c) {
  if (!is_floating(c.meta(0).dtype)) return {TensorHandle()};
  const TensorHandle& dy = c.dy();
  return {dy.dtype() == c.meta(0).dtype ? dy : TensorHandle(cast(dy, c.meta(0).dtype))};
}

Meta infer_plain(const NoAttrs&, Metas in) { return in[0]; }
Grads grad_plain(const NoAttrs&, const GradContext& c) { return {c.dy()}; }

}  // namespace

namespace op {
constinit OpInfo cast = define<CastTo, infer, grad_cast>({.schema = "cast(Tensor input, DType dtype) -> Tensor",
    .doc = "Returns a copy of input converted to another dtype.",
    .kind = Kind::elementwise,
    .torch = "lambda x, dtype: x.to(dtype, copy=True)",
    .example = "pyburn.cast(pyburn.tensor([1.5, 2.5]), pyburn.int64)",
    .samples = R"(
t(2, 3), f64
t(2, 3), f32
t(2, 3), i64
t(), f16
t(0, 3), bf16
t(4, 3).T, f64
t(2, 1).expand(2, 3), f64
t(2, 3, dtype=i64), f32
t(2, 3, dtype=b8), i32
t(5, dtype=u8), b8
t(2), 'nonsense' ! dtype)"});

constinit OpInfo contiguous_copy = define<NoAttrs, infer_plain, grad_plain>({.schema = "contiguous_copy(Tensor input) -> Tensor",
    .doc = "Returns a contiguous (row-major) copy of input.",
    .torch = "lambda x: x.clone(memory_format=torch.contiguous_format)",
    .example = "pyburn.contiguous_copy(pyburn.ones(2, 3).T).is_contiguous()",
    .samples = R"(
t(2, 3).T
t()
t(0, 2)
t(3, 1).expand(3, 4)
t(4, dtype=i64)
3 ! Tensor)"});
}  // namespace op

namespace {
constinit FunctionInfo functions[] = {
    {.schema = "clone(Tensor input) -> Tensor",
        .doc = "Returns a copy of input that keeps its memory order.",
        .example = "pyburn.clone(pyburn.ones(2))",
        .samples = "t(2, 3)\nt(2, 3).T\nt()\nt(0)\nt(3, 1).expand(3, 2)\n1 ! Tensor"},
    {.schema = "contiguous(Tensor input) -> Tensor",
        .doc = "Returns input if it is contiguous, else a contiguous copy.",
        .torch = "lambda x: x.contiguous()",
        .example = "pyburn.contiguous(pyburn.ones(2, 3).T)",
        .samples = "t(2, 3)\nt(2, 3).T\nt()\nt(0)\nt(3, 1).expand(3, 2)\n1 ! Tensor"},
    {.schema = "detach(Tensor input) -> Tensor",
        .doc = "Returns a tensor that shares memory with input and has no gradient history.",
        .example = "pyburn.detach(pyburn.ones(2, requires_grad=True)).requires_grad",
        .samples = "t(2, 3)\nt(2, 3).T\nt()\nt(0)\nt(3, 1).expand(3, 2)\n1 ! Tensor"},
};
}

TensorHandle fn::clone(const TensorHandle& input) { return cast(input, input.dtype()); }
TensorHandle fn::contiguous(const TensorHandle& input) {
  return input.layout().is_contiguous() ? TensorHandle(input) : contiguous_copy(input);
}

TensorHandle fn::detach(const TensorHandle& input) {
  TensorHandle y = alias(input, input.layout());
  y.set(Flag::inference, input.has(Flag::inference));
  return y;
}

namespace {

// The axes with the channels at the end, or back.
Dims channels_to_end(int rank) {
  Dims order{0};
  for (int i = 2; i < rank; ++i) order.push_back(i);
  order.push_back(1);
  return order;
}
Dims channels_back(int rank) {
  Dims order{0, rank - 1};
  for (int i = 1; i + 1 < rank; ++i) order.push_back(i);
  return order;
}
int rank_of(MemoryOrder order) { return order == MemoryOrder::channels_last ? 4 : 5; }

}  // namespace

bool is_in_order(const Layout& layout, MemoryOrder order) {
  if (order == MemoryOrder::any) return true;
  if (order == MemoryOrder::plain) return layout.is_contiguous();
  if (layout.rank() != rank_of(order)) return false;
  Layout moved = layout;
  const Dims axes = channels_to_end(layout.rank());
  for (int i = 0; i < layout.rank(); ++i) moved.shape[i] = layout.shape[int(axes[i])], moved.strides[i] = layout.strides[int(axes[i])];
  return moved.is_contiguous();
}

TensorHandle in_order(const TensorHandle& x, MemoryOrder order) {
  if (is_in_order(x.layout(), order)) return x;
  if (order == MemoryOrder::plain) return contiguous(x);
  require(x.rank() == rank_of(order), "required rank {} tensor to use this memory format: got {}", rank_of(order), x.shape());
  return permute(contiguous(permute(x, channels_to_end(x.rank()))), channels_back(x.rank()));
}

void write_result(const TensorHandle& target, const TensorHandle& result) {
  fit_result(target, result.shape());
  require(target.shape() == result.shape(), "the result has another shape than the tensor that it is written to: got {} for {}",
      result.shape(), target.shape());
  require<DTypeError>(can_cast(result.dtype(), target.dtype()), "result type {} can't be cast to the desired output type {}",
      result.dtype(), target.dtype());
  copy_into(target, result);
}

TensorHandle before_write(const TensorHandle& target, const TensorHandle& input) {
  return target.is_same(input) && input.requires_grad() ? clone(input) : input;
}

void copy_into(const TensorHandle& target, const TensorHandle& source) {
  const Shape &from = source.shape(), &to = target.shape();
  bool fits = from.rank() <= to.rank();
  for (int i = 1; fits && i <= from.rank(); ++i) fits = from[from.rank() - i] == 1 || from[from.rank() - i] == to[to.rank() - i];
  require(fits, "cannot broadcast a value of shape {} to shape {}", from, to);
  const TensorHandle fitted = from == to ? TensorHandle(source) : expand(source, to);
  InputList in;
  in.add(fitted);
  call_into(op::cast, CastTo{target.dtype()}, in, target);
}

void register_copy(OpTable& table) {
  table.add({&op::cast, &op::contiguous_copy});
  table.add(functions);
}

}  // namespace pyburn
