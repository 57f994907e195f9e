// Elementwise functions of three operands.
#include "pyburn/ops/pointwise.h"

#include "pyburn/ops/elementwise.h"
#include "pyburn/ops/generated/binary.h"
#include "pyburn/ops/generated/copy.h"
#include "pyburn/ops/generated/index.h"
#include "pyburn/ops/generated/pointwise.h"
#include "pyburn/runtime/promotion.h"

namespace pyburn {

Clamp Clamp::from(const TensorHandle&, const std::optional<Scalar>& min, const std::optional<Scalar>& max) {
  require<ValueError>(min || max, "at least one of min and max must be given: got None");
  return {min, max};
}

namespace {

Meta infer_lerp(const Lerp& a, Metas in) {
  require<ValueError>(in.size() == (a.weight ? 2 : 3), "expected a weight: got {} tensors", int64_t(in.size()));
  for (const Meta& m : in) require<DTypeError>(m.dtype == in[0].dtype, "expected equal dtypes: got {} and {}", in[0].dtype, m.dtype);
  return infer_floating(a, in);
}
Grads grad_lerp(const Lerp& a, const GradContext& c) {
  const TensorHandle& dy = c.dy();
  if (a.weight) return {dy * (1 - a.weight->to_double()), dy * Operand(*a.weight)};
  const TensorHandle weight = c.input(2);
  return {c.needs(0) ? dy * (1 - weight) : TensorHandle(), c.needs(1) ? dy * weight : TensorHandle(),
      c.needs(2) ? dy * (c.input(1) - c.input(0)) : TensorHandle()};
}
Grads grad_addcmul(const AddProduct& a, const GradContext& c) {
  const TensorHandle g = a.value == Scalar(1) ? TensorHandle(c.dy()) : c.dy() * Operand(a.value);
  return {c.dy(), c.needs(1) ? g * c.input(2) : TensorHandle(), c.needs(2) ? g * c.input(1) : TensorHandle()};
}
Grads grad_addcdiv(const AddProduct& a, const GradContext& c) {
  if (!c.needs(1) && !c.needs(2)) return {c.dy()};
  const TensorHandle divisor = c.input(2), g = c.dy() * Operand(a.value) / divisor;
  return {c.dy(), g, c.needs(2) ? -(g * c.input(1) / divisor) : TensorHandle()};
}
Grads grad_clamp(const Clamp& a, const GradContext& c) {
  const TensorHandle x = c.input(0);
  TensorHandle dx = c.dy();
  if (a.min) dx = where(gt(x, *a.min), dx, 0.0);
  if (a.max) dx = where(lt(x, *a.max), dx, 0.0);
  return {dx};
}

constexpr const char* kAddProduct = R"(
t(2, 3), t(2, 3), t(2, 3)
t(2, 3), t(3), t(2, 1), value=0.5
t(), t(2), t()
t(0, 3), t(1, 3), t(3)
t(4, 3).T, t(3, 4), t(4, 3).T, value=2
t(5, dtype=f64), t(5), t(5)
t(5, dtype=f16), t(5, dtype=f16), t(5, dtype=f16)
t(2, 3), t(4, 5), t(2, 3) ! shapes do not broadcast)";

}  // namespace

namespace op {
constinit OpInfo lerp = define<Lerp, infer_lerp, grad_lerp>({.schema = "lerp(Tensor input, Tensor end, Tensor|Scalar weight) -> Tensor",
    .doc = "Interpolates linearly: input + weight * (end - input).",
    .kind = Kind::elementwise,
    .reads = {{2}, {2}, {0, 1}},
    .example = "pyburn.lerp(pyburn.tensor([0., 10.]), pyburn.tensor([1., 20.]), 0.5)",
    .samples = R"(
t(2, 3), t(2, 3), 0.25
t(2, 3), t(3), 0.75
t(2, 1), t(1, 3), t(2, 3)
t(), t(2), t()
t(0, 3), t(1, 3), 0.5
t(4, 3).T, t(3, 4), t(3, 4)
t(5, dtype=f64), t(5, dtype=f64), t(5, dtype=f64)
t(5, dtype=f16), t(5, dtype=f16), 2
t(2), t(2, dtype=f64), 0.5 ! dtypes
t(2, dtype=i64), t(2, dtype=i64), 0.5 ! floating)"});
constinit OpInfo addcmul = define<AddProduct, infer_same<AddProduct>, grad_addcmul>(
    {.schema = "addcmul(Tensor input, Tensor tensor1, Tensor tensor2, *, Scalar value=1) -> Tensor",
        .doc = "Computes input + value * tensor1 * tensor2 element-wise.",
        .kind = Kind::elementwise,
        .cast = Cast::promote,
        .reads = {{}, {2}, {1}},
        .example = "pyburn.addcmul(pyburn.tensor([1.]), pyburn.tensor([2.]), pyburn.tensor([3.]), value=10)",
        .samples = kAddProduct});
constinit OpInfo addcdiv = define<AddProduct, infer_floating<AddProduct>, grad_addcdiv>(
    {.schema = "addcdiv(Tensor input, Tensor tensor1, Tensor tensor2, *, Scalar value=1) -> Tensor",
        .doc = "Computes input + value * tensor1 / tensor2 element-wise.",
        .kind = Kind::elementwise,
        .cast = Cast::promote,
        .reads = {{}, {2}, {1, 2}},
        .example = "pyburn.addcdiv(pyburn.tensor([1.]), pyburn.tensor([2.]), pyburn.tensor([4.]), value=10)",
        .samples = kAddProduct});
constinit OpInfo clamp =
    define<Clamp, infer_number<Clamp>, grad_clamp>({.schema = "clamp(Tensor input, Scalar? min=None, Scalar? max=None) -> Tensor",
        .doc = "Clamps all elements into the range [min, max].",
        .kind = Kind::elementwise,
        .cast = Cast::promote,
        .saves = inputs,
        .example = "pyburn.clamp(pyburn.tensor([-2., 0., 2.]), -1, 1)",
        .samples = R"(
t(2, 3), -0.5, 0.5
t(2, 3), 0
t(2, 3), max=0.5
t(2, 3), min=-1, max=0.75
t(2, 3), 1.0, -1.0
t(), 0.25
t(0, 3), 1
t(4, 3).T, -1, 1
t(2, 1).expand(2, 5), max=0
tensor([nan, inf, -inf, 1.]), -1, 1
t(5, dtype=f16), -0.5, 0.5
t(5, dtype=i64), -1, 2
t(5, dtype=i64), -1.5, 2
t(5, dtype=u8), 1, 3
t(2) ! min and max)"});
}  // namespace op

namespace {
constinit FunctionInfo functions[] = {
    {.schema = "clamp.tensors(Tensor input, Tensor? min=None, Tensor? max=None) -> Tensor",
        .doc = "Clamps all elements into element-wise ranges [min, max].",
        .example = "pyburn.clamp(pyburn.tensor([-2., 2.]), pyburn.tensor([0., 1.]), pyburn.tensor([3., 1.5]))",
        .samples = R"(
t(2, 3), t(2, 3), t(2, 3)
t(2, 3), t(3)
t(2, 1), max=t(1, 3)
t(), t(2)
t(0, 3), t(1, 3), t(1, 3)
t(4, 3).T, t(3, 4), t(4, 3).T
t(2, 1).expand(2, 3), t(3), t(2, 3)
t(5, dtype=i64), t(5), t(5)
t(5, dtype=i64), t(), t(dtype=f64)
t(5, dtype=i32), t(dtype=i64), t(5, dtype=i32)
t(2), t(3) ! shapes do not broadcast)",
        .in_place = true},
    {.schema = "clamp_min(Tensor input, Scalar min) -> Tensor",
        .doc = "Clamps all elements from below: max(x, min).",
        .example = "pyburn.clamp_min(pyburn.tensor([-2., 2.]), 0)",
        .samples = "t(2, 3), 0.5\nt(), -1\nt(0), 1\nt(3, 2).T, 0\nt(2, 1).expand(2, 3), 0.5\nt(4, dtype=i64), 1\nNone, 1 ! no form",
        .in_place = true},
    {.schema = "clamp_min.tensors(Tensor input, Tensor min) -> Tensor",
        .doc = "Clamps all elements from below element-wise: max(x, min).",
        .example = "pyburn.clamp_min(pyburn.tensor([-2., 2.]), pyburn.tensor([0., 3.]))",
        .samples =
            "t(2, 3), t(3)\nt(), t(2)\nt(0), t(1)\nt(3, 2).T, t(2, 3)\nt(2, 1).expand(2, 3), t(3)\nt(2), t(3) ! shapes do not broadcast",
        .in_place = true},
    {.schema = "clamp_max(Tensor input, Scalar max) -> Tensor",
        .doc = "Clamps all elements from above: min(x, max).",
        .example = "pyburn.clamp_max(pyburn.tensor([-2., 2.]), 0)",
        .samples = "t(2, 3), 0.5\nt(), -1\nt(0), 1\nt(3, 2).T, 0\nt(2, 1).expand(2, 3), 0.5\nt(4, dtype=i64), 1\nNone, 1 ! no form",
        .in_place = true},
    {.schema = "clamp_max.tensors(Tensor input, Tensor max) -> Tensor",
        .doc = "Clamps all elements from above element-wise: min(x, max).",
        .example = "pyburn.clamp_max(pyburn.tensor([-2., 2.]), pyburn.tensor([0., 3.]))",
        .samples =
            "t(2, 3), t(3)\nt(), t(2)\nt(0), t(1)\nt(3, 2).T, t(2, 3)\nt(2, 1).expand(2, 3), t(3)\nt(2), t(3) ! shapes do not broadcast",
        .in_place = true},
    {.schema = "masked_fill(Tensor input, Tensor mask, Tensor|Scalar value) -> Tensor",
        .doc = "Returns a copy of input with value where mask is true.",
        .example = "pyburn.masked_fill(pyburn.tensor([1., 2.]), pyburn.tensor([True, False]), 9)",
        .samples = R"(
t(2, 3), t(2, 3, dtype=b8), 2.5
t(2, 3), t(3, dtype=b8), t()
t(2, 1), t(1, 3, dtype=b8), 1
t(), t(dtype=b8), -1.5
t(0, 3), t(1, 3, dtype=b8), 1
t(4, 3).T, t(3, 4, dtype=b8), 0
t(2, 1).expand(2, 3), t(3, dtype=b8), 2
t(4, dtype=i64), t(4, dtype=b8), 3
t(4, dtype=f16), t(4, dtype=b8), 3
t(2), t(2), 1 ! boolean
t(2), t(2, dtype=b8), t(2) ! 0-d
t(4, dtype=i64), t(4, dtype=b8), 1.5
t(4, dtype=b8), t(4, dtype=b8), 0
t(2, dtype=i64), t(2, dtype=b8), t() ! converted)",
        .in_place = true},
};
}

TensorHandle fn::clamp(const TensorHandle& input, const TensorHandle& min, const TensorHandle& max) {
  require<ValueError>(min.defined() || max.defined(), "[clamp] at least one of min and max must be given: got None");
  const TensorHandle* all[] = {&input, &min, &max};  // their common dtype is that of the three at once, not of two and then the third
  const DType common = promoted_dtype(all);
  TensorHandle y = input.dtype() == common ? input : TensorHandle(cast(input, common));
  if (min.defined()) y = maximum(y, min);
  return max.defined() ? minimum(y, max) : y;
}
TensorHandle fn::clamp_min(const TensorHandle& input, const Scalar& min) { return clamp(input, min, std::optional<Scalar>()); }
TensorHandle fn::clamp_min(const TensorHandle& input, const TensorHandle& min) { return clamp(input, min, TensorHandle()); }
TensorHandle fn::clamp_max(const TensorHandle& input, const Scalar& max) { return clamp(input, std::optional<Scalar>(), max); }
TensorHandle fn::clamp_max(const TensorHandle& input, const TensorHandle& max) { return clamp(input, TensorHandle(), max); }
TensorHandle fn::masked_fill(const TensorHandle& input, const TensorHandle& mask, const Operand& value) {
  require<DTypeError>(mask.dtype() == DType::boolean, "[masked_fill] expected a boolean mask: got {}", mask.dtype());
  if (!value.is_tensor()) {
    const Scalar& v = value.value();
    const DType dtype = input.dtype();
    return where(mask, is_floating(dtype) ? v : dtype == DType::boolean ? Scalar(v.to<bool>()) : Scalar(v.to_int()), input);
  }
  const TensorHandle& v = value.tensor();
  require(v.rank() == 0, "[masked_fill] expected a 0-d value: got {}", v.shape());
  require<DTypeError>(
      can_cast(v.dtype(), input.dtype()), "[masked_fill] value cannot be converted to {}: got {}", input.dtype(), v.dtype());
  return where(mask, cast(v, input.dtype()), input);
}

void register_pointwise(OpTable& table) {
  table.add({&op::lerp, &op::addcmul, &op::addcdiv, &op::clamp});
  table.add(functions);
}

}  // namespace pyburn
