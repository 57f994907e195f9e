// Borders around tensors.
#include "pyburn/ops/pad.h"

#include "pyburn/ops/rules.h"

namespace pyburn {
namespace {

Meta infer(const ConstantPad& a, Metas in) {
  Shape shape = in[0].shape;
  require(a.pad.size() % 2 == 0, "the length of pad must be even: got {}", a.pad);
  require(a.pad.size() <= 2 * shape.rank(), "pad must not be longer than twice the number of axes: got {} for {}", a.pad, shape);
  for (int i = 0; i < shape.rank(); ++i) {
    shape[i] += a.before(i, shape.rank()) + a.after(i, shape.rank());
    require(shape[i] >= 0, "the result would have a negative size at dimension {}: got {} for {}", i, a.pad, in[0].shape);
  }
  checked_numel(shape);
  return {shape, in[0].dtype};
}
Grads grad(const ConstantPad& a, const GradContext& c) {
  Dims back;
  for (int64_t n : a.pad) back.push_back(-n);
  return {constant_pad_nd(c.dy(), back, 0)};
}

}  // namespace

namespace op {
constinit OpInfo constant_pad_nd =
    define<ConstantPad, infer, grad>({.schema = "constant_pad_nd(Tensor input, int[] pad, Scalar value=0) -> Tensor",
        .doc = "input with a border of value; pad is (before, after) for the last axis, then for the one before it, and so on.",
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
t(3), (-2, -2) ! negative)"});
}  // namespace op

namespace {
constinit FunctionInfo functions[] = {
    {.schema = "pad(Tensor input, int[] pad, str mode='constant', float? value=None) -> Tensor",
        .doc =
            "input with a border: of a value ('constant'), of its own elements mirrored ('reflect'), of the nearest ('replicate') or from "
            "the other end ('circular').",
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
t(2, 4), (5, 0), 'circular' ! more than once
t(2, 4), (1, 1), 'mirror' ! mode
t(2, 4), (1, 1), 'reflect', 1.0 ! value
t(4), (1, 1), 'reflect' ! axes)"},
};

// The border before or after `axis`, of the given width, for one mode.
Tensor border(const TensorHandle& x, int axis, int64_t width, bool before, const std::string& mode) {
  const int64_t n = x.shape()[axis];
  if (mode == "reflect") {
    require(width < n, "[pad] the width must be less than the size of the axis: got {} at dimension {} of {}", width, axis, x.shape());
    return flip(before ? slice(x, axis, 1, width + 1) : slice(x, axis, n - 1 - width, n - 1), Dims{axis});
  }
  if (mode == "circular") {
    require(width <= n, "[pad] the border would wrap around more than once: got {} at dimension {} of {}", width, axis, x.shape());
    return before ? slice(x, axis, n - width, n) : slice(x, axis, 0, width);
  }
  require(n > 0, "[pad] expected elements to repeat: got {}", x.shape());
  Dims size = x.shape();
  size[axis] = width;
  return expand(before ? slice(x, axis, 0, 1) : slice(x, axis, n - 1, n), size);
}
}  // namespace

Tensor pad(const TensorHandle& input, const Dims& pad, const std::string& mode, std::optional<double> value) {
  if (mode == "constant") return constant_pad_nd(input, pad, value.value_or(0));
  require<ValueError>(mode == "reflect" || mode == "replicate" || mode == "circular",
      "[pad] mode is 'constant', 'reflect', 'replicate' or 'circular': got '{}'", mode);
  require<ValueError>(!value || *value == 0, "[pad] mode '{}' takes no value: got {}", mode, *value);
  const int64_t padded = pad.size() / 2;
  require(pad.size() % 2 == 0 && padded >= 1 && padded <= 3 && (input.rank() == padded + 1 || input.rank() == padded + 2),
      "[pad] mode '{}' pads the last 1 to 3 axes of a tensor with one or two more axes: got {} for {}", mode, pad, input.shape());
  Tensor y = input;
  for (int64_t i = 0; i < padded; ++i) {
    const int axis = int(input.rank() - 1 - i);
    const int64_t before = pad[2 * i], after = pad[2 * i + 1], n = input.shape()[axis];
    Tensors parts;
    if (before > 0) parts.push_back(border(y, axis, before, true, mode));
    parts.push_back(before < 0 || after < 0 ? slice(y, axis, std::max<int64_t>(-before, 0), n + std::min<int64_t>(after, 0)) : y);
    if (after > 0) parts.push_back(border(y, axis, after, false, mode));
    if (parts.size() > 1) y = cat(parts, axis);
    else y = parts[0];
  }
  return y;
}

void register_pad(OpTable& table) {
  table.add({&op::constant_pad_nd});
  table.add(functions);
}

}  // namespace pyburn
