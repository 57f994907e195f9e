// Borders around tensors.
#include "pyburn/ops/pad.h"

#include <algorithm>

#include "pyburn/ops/generated/binary.h"
#include "pyburn/ops/generated/copy.h"
#include "pyburn/ops/generated/movement.h"
#include "pyburn/ops/generated/pad.h"
#include "pyburn/ops/generated/rearrange.h"
#include "pyburn/ops/generated/reduce.h"
#include "pyburn/ops/rules.h"
#include "pyburn/support/checked.h"

namespace pyburn {

BorderPad BorderPad::from(const TensorHandle&, const Dims& pad, const std::string& mode) {
  constexpr const char* kNames[] = {"reflect", "replicate", "circular"};
  for (int i = 0; i < 3; ++i)
    if (mode == kNames[i]) return {pad, Border(i)};
  fail<ValueError>("mode must be 'constant', 'reflect', 'replicate' or 'circular': got '{}'", mode);
}

namespace {

Meta infer(const ConstantPad& a, Metas in) {
  Shape shape = in[0].shape;
  require(a.pad.size() % 2 == 0, "the length of pad must be even: got {}", a.pad);
  require(a.pad.size() <= 2 * shape.rank(), "pad must not be longer than twice the number of dimensions: got {} for {}", a.pad, shape);
  for (int i = 0; i < shape.rank(); ++i) {
    const int64_t before = a.before(i, shape.rank()), after = a.after(i, shape.rank());
    // Negative widths crop first: padding on one side does not make up for cropping too much on the other.
    const int64_t kept = Checked(shape[i]) + std::min<int64_t>(before, 0) + std::min<int64_t>(after, 0);
    shape[i] = Checked(kept) + std::max<int64_t>(before, 0) + std::max<int64_t>(after, 0);
    require(kept >= 0, "the result would have a negative size at dimension {}: got {} for {}", i, a.pad, in[0].shape);
  }
  checked_numel(shape);
  return {shape, in[0].dtype};
}
Grads grad(const ConstantPad& a, const GradContext& c) {
  Dims back;
  for (int64_t n : a.pad) back.push_back(-n);
  return {constant_pad_nd(c.dy(), back, 0)};
}

Meta infer_border(const BorderPad& a, Metas in) {
  require<ValueError>(a.border <= Border::circular, "unknown mode: got {}", int64_t(a.border));
  Shape shape = in[0].shape;
  const int padded = int(a.pad.size() / 2);
  require(a.pad.size() % 2 == 0 && padded <= shape.rank(), "pad does not match the input: got {} for {}", a.pad, shape);
  for (int i = 0; i < padded; ++i) {
    const int axis = shape.rank() - 1 - i;
    const int64_t before = a.pad[2 * i], after = a.pad[2 * i + 1], n = shape[axis], widest = std::max(before, after);
    require(before >= 0 && after >= 0, "widths must not be negative: got {}", a.pad);
    if (a.border == Border::reflect)
      require(widest == 0 || widest < n, "Padding size should be less than the corresponding input dimension: got {} at dimension {} of {}",
          widest, axis, in[0].shape);
    else if (a.border == Border::circular)
      require(
          widest <= n, "circular padding must not exceed the size of the input: got {} at dimension {} of {}", widest, axis, in[0].shape);
    else require(widest == 0 || n > 0, "expected a non-empty input: got {}", in[0].shape);
    shape[axis] = Checked(n) + before + after;
  }
  checked_numel(shape);
  return {shape, in[0].dtype};
}

// Along one axis of `part`, the elements that a border of the given width repeats, in its order.
TensorHandle repeated(const TensorHandle& part, int axis, int64_t width, bool before, Border border) {
  const int64_t n = part.shape()[axis];
  if (border == Border::replicate) return before ? slice(part, axis, 0, 1) : slice(part, axis, n - 1, n);
  if (border == Border::reflect) return before ? slice(part, axis, 1, width + 1) : slice(part, axis, n - 1 - width, n - 1);
  return before ? slice(part, axis, n - width, n) : slice(part, axis, 0, width);
}
Grads grad_border(const BorderPad& a, const GradContext& c) {
  TensorHandle dy = c.dy();
  for (int i = int(a.pad.size() / 2) - 1; i >= 0; --i) {
    const int axis = dy.rank() - 1 - i;
    const int64_t before = a.pad[2 * i], after = a.pad[2 * i + 1], n = c.meta(0).shape[axis];
    if (before == 0 && after == 0) continue;
    const TensorHandle inside = clone(slice(dy, axis, before, before + n));
    for (const bool first : {true, false}) {
      const int64_t width = first ? before : after;
      if (width == 0) continue;
      const TensorHandle arrived = first ? slice(dy, axis, 0, before) : slice(dy, axis, before + n, before + n + after);
      const TensorHandle target = repeated(inside, axis, width, first, a.border);
      if (a.border == Border::reflect) add_into(target, target, flip(arrived, Dims{axis}));
      else add_into(target, target, a.border == Border::replicate ? sum(arrived, Dims{axis}, true) : arrived);
    }
    dy = inside;
  }
  return {dy};
}

}  // namespace

namespace op {
constinit OpInfo constant_pad_nd =
    define<ConstantPad, infer, grad>({.schema = "constant_pad_nd(Tensor input, int[] pad, Scalar value=0) -> Tensor",
        .doc = "Pads input with a constant value; pad lists (before, after) pairs from the last dimension backwards.",
        .example = "pyburn.constant_pad_nd(pyburn.ones(3), (1, 2))",
        .samples = R"(
t(3), (1, 2)
t(2, 3), (1, 2), 1.5
t(2, 3), (1, 0, 2, 1), value=-1
t(4, 5), (-1, 2, 1, -3)
t(2, 3, 2), (0, 0, 1, 1)
t(), ()
t(0, 2), (1, 1, 2, 0)
t(3, 2).T, (1, 1)
t(2, 1).expand(2, 3), (0, 1, 1, 0)
t(3, dtype=i64), (1, 1), 7
t(3, dtype=f16), (1, 1), 0.5
t(3, dtype=b8), (1, 0), True
t(3), (1,) ! even
t(3), (1, 1, 1, 1) ! longer
t(3), (-2, -2) ! negative
t(1), (5, -4) ! negative)"});
constinit OpInfo _border_pad =
    define<BorderPad, infer_border, grad_border>({.schema = "_border_pad(Tensor input, int[] pad, str mode) -> Tensor",
        .doc = "Pads input with its own elements in mode 'reflect', 'replicate' or 'circular'.",
        .torch = "torch.nn.functional.pad",
        .example = "pyburn.nn.functional.pad(pyburn.arange(4.).view(1, 4), (1, 2), 'reflect')",
        .samples = R"(
t(2, 4), (1, 2), 'reflect'
t(2, 3, 4), (3, 2, 1, 2), 'reflect'
t(2, 3, 4, 3), (1, 2, 3, 2, 1, 0), 'reflect'
t(2, 3, 4), (5, 2, 0, 6), 'replicate'
t(2, 4), (1, 2), 'circular'
t(1, 2, 3, 4), (1, 2, 3, 0), 'circular'
t(3, 4, 2).permute(2, 0, 1), (1, 1), 'reflect'
t(2, 3, 1).expand(2, 3, 4), (1, 2), 'circular'
t(0, 2, 4), (1, 1), 'reflect'
t(2, 4, dtype=f64), (1, 2), 'replicate'
t(2, 4), (4, 0), 'reflect' ! less than
t(2, 4), (5, 0), 'circular' ! must not exceed
t(), (1, 1), 'reflect' ! does not match
t(2, 4), (1, 1), 'mirror' ! mode)"});
}  // namespace op

namespace {
constinit FunctionInfo functions[] = {
    {.schema = "pad(Tensor input, int[] pad, str mode='constant', float? value=None) -> Tensor",
        .doc = "Pads input in mode 'constant', 'reflect', 'replicate' or 'circular'.",
        .torch = "torch.nn.functional.pad",
        .example = "pyburn.pad(pyburn.arange(3.), (1, 2))",
        .samples = R"(
t(2, 3), (1, 2)
t(2, 3), (1, 0, 2, 1), 'constant', 2.5
t(2, 3), (1, 0, 2, 1), value=-1
t(2, 4), (1, 2), 'reflect'
t(2, 3, 4), (3, 2, 1, 2), 'reflect'
t(2, 3, 4, 3), (1, 2, 3, 2, 1, 0), 'reflect'
t(2, 4), (1, 2), mode='replicate'
t(2, 3, 4), (5, 2, 0, 6), 'replicate'
t(2, 3, 4), (-1, 2), 'replicate'
t(2, 4), (1, 2), 'circular'
t(2, 3, 4), (4, 1), 'circular'
t(1, 2, 3, 4), (1, 2, 3, 0), 'circular'
t(3, 4, 2).permute(2, 0, 1), (1, 1), 'reflect'
t(2, 3, 1).expand(2, 3, 4), (1, 2), 'circular'
t(0, 2, 4), (1, 1), 'reflect'
t(), ()
t(2, 4, dtype=f64), (1, 2), 'reflect'
t(2, 4), (4, 0), 'reflect' ! less than
t(2, 4), (5, 0), 'circular' ! must not exceed
t(2, 4), (1, 1), 'mirror' ! mode
t(2, 4), (1, 1), 'reflect', 1.0 ! value
t(4), (1, 1), 'reflect' ! 2D or 3D)"},
};

}  // namespace

TensorHandle fn::pad(const TensorHandle& input, const Dims& pad, const std::string& mode, std::optional<double> value) {
  if (mode == "constant") return constant_pad_nd(input, pad, value.value_or(0));
  require<ValueError>(!value || *value == 0, "[pad] mode '{}' does not accept a value: got {}", mode, value.value_or(0));
  const int64_t padded = pad.size() / 2;
  require(pad.size() % 2 == 0 && padded >= 1 && padded <= 3, "[pad] mode '{}' pads the last 1 to 3 dimensions: got {}", mode, pad);
  require(input.rank() == padded + 1 || input.rank() == padded + 2,
      "[pad] mode '{}': Padding size {} is not supported for {}D input tensor, expected {}D or {}D input (got {}D input)", mode, pad.size(),
      input.rank(), padded + 1, padded + 2, input.rank());
  if (mode != "circular")
    for (int64_t i = input.rank() - padded - 1; i < input.rank(); ++i)
      require(input.shape()[int(i)] > 0,
          "[pad] Expected {}D or {}D (batch mode) tensor with possibly 0 batch size and other non-zero dimensions for input: got {}",
          padded + 1, padded + 2, input.shape());
  TensorHandle inside = input;  // negative widths cut off
  Dims widths = pad;
  for (int64_t i = 0; i < padded; ++i) {
    const int64_t axis = input.rank() - 1 - i, n = input.shape()[axis];
    const int64_t before = pad[2 * i], after = pad[2 * i + 1], total = Checked(n) + before + after;
    require(total >= 0, "[pad] negative padding exceeds the size of the input: got {} for {}", pad, input.shape());
    if (mode == "replicate" && n > 0 && total > 0 && (before <= -n || after <= -n)) {
      // The input is cropped completely; the other side repeats the element at the edge.
      inside = slice(inside, axis, before <= -n ? n - 1 : 0, before <= -n ? n : 1);
      widths[2 * i] = 0, widths[2 * i + 1] = total - 1;
      continue;
    }
    if (before < 0 || after < 0) inside = slice(inside, axis, std::max<int64_t>(0 - Checked(before), 0), n + std::min<int64_t>(after, 0));
  }
  for (int64_t& w : widths) w = std::max<int64_t>(w, 0);
  return _border_pad(inside, widths, mode);
}

void register_pad(OpTable& table) {
  table.add({&op::constant_pad_nd, &op::_border_pad});
  table.add(functions);
}

}  // namespace pyburn
