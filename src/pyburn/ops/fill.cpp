// Tensors made from numbers alone.
#include "pyburn/ops/fill.h"

#include <algorithm>
#include <cmath>

#include "pyburn/ops/copy.h"
#include "pyburn/ops/generated/binary.h"
#include "pyburn/ops/generated/copy.h"
#include "pyburn/ops/generated/fill.h"
#include "pyburn/ops/generated/index.h"
#include "pyburn/ops/generated/movement.h"
#include "pyburn/ops/generated/reduce.h"
#include "pyburn/ops/generated/scatter.h"
#include "pyburn/ops/rules.h"
#include "pyburn/runtime/transfer.h"

namespace pyburn {

Arange Arange::from(const std::optional<Scalar>& start, const std::optional<Scalar>& end, const Scalar& step, std::optional<DType> dtype) {
  require<ValueError>(start || end, "[arange] missing argument: 'end'");
  const Scalar first = start && end ? *start : Scalar(0), last = end ? *end : *start;  // one bound alone is the end, whatever its name
  require<ValueError>(step.to_double() != 0, "[arange] step must not be zero: got {}", step);
  const double span = last.to_double() - first.to_double();
  require<ValueError>(std::isfinite(span), "[arange] bounds must be finite: got {} and {}", first, last);
  require<ValueError>(span == 0 || (span > 0) == (step.to_double() > 0),
      "[arange] upper bound and larger bound inconsistent with step sign: got {}, {}, {}", first, last, step);
  const bool floating = first.is_floating() || last.is_floating() || step.is_floating();
  const double n = std::ceil(span / step.to_double());
  require<ValueError>(n < 1e15, "[arange] too many elements: got {}", n);
  const DType result = dtype.value_or(floating ? default_dtype() : DType::int64);
  if (is_integral(result)) return {first.to_int(), step.to_int(), int64_t(n), result};  // integer bounds give integer elements
  return {first, step, int64_t(n), result};
}

namespace {

Meta infer_linspace(const Linspace& a, Metas) {
  require<ValueError>(a.steps >= 0, "number of steps must not be negative: got {}", a.steps);
  require<DTypeError>(a.dtype != DType::boolean, "not defined for bool: got {} steps", a.steps);
  checked_numel(Shape{a.steps});
  return {Shape{a.steps}, a.dtype};
}
Meta infer_full(const Full& a, Metas) {
  checked_numel(a.size);
  return {a.size, a.dtype};
}
Meta infer_arange(const Arange& a, Metas) {
  require<DTypeError>(a.dtype != DType::boolean, "not defined for bool");
  checked_numel(Shape{a.count});
  return {Shape{a.count}, a.dtype};
}

}  // namespace

namespace op {
constinit OpInfo full = define<Full, infer_full>(
    {.schema = "full(int[] size, Scalar fill_value, *, DType? dtype=None, Device? device=None, bool requires_grad=False) -> Tensor",
        .doc = "Creates a tensor of the given shape filled with fill_value.",
        .kind = Kind::fill,
        .no_grad = "has no tensor inputs",
        .example = "pyburn.full((2, 2), 7.)",
        .samples = R"(
(2, 3), 1.5
(), 2
(0, 3), True
(4,), 3, dtype=f16
(2,), 1.0, dtype=f64, requires_grad=True
(2, -3), 1 ! negative size)"});

constinit OpInfo arange = define<Arange, infer_arange>({.schema = "arange(Scalar? start=None, Scalar? end=None, Scalar step=1, *, DType? "
                                                                  "dtype=None, Device? device=None, bool requires_grad=False) -> Tensor",
    .doc = "Creates a 1-d tensor with values from start up to, but not including, end, in steps of step.",
    .kind = Kind::fill,
    .no_grad = "has no tensor inputs",
    .torch = "lambda start=0, end=None, step=1, **k: torch.arange(start, **k) if end is None else torch.arange(start, end, step, **k)",
    .example = "pyburn.arange(5)",
    .samples = R"(
5
0
1, 4
1.0, 2.5, 0.5
5, 1, -2
-0.9, 2.1, 2.0, dtype=i64
3, dtype=f32
3.0, dtype=f64, requires_grad=True
7, dtype=f16
7, dtype=bf16
2, 9, 3, dtype=u8
-3, 3, 2, dtype=i16
end=4
end=4.0, step=2
1, 5, -1 ! step sign
1, 5, 0 ! zero
dtype=f32 ! missing)"});

constinit OpInfo linspace =
    define<Linspace, infer_linspace>({.schema = "linspace(Scalar start, Scalar end, int steps, *, DType? dtype=None, "
                                                "Device? device=None, bool requires_grad=False) -> Tensor",
        .doc = "Creates a 1-d tensor of evenly spaced values from start to end, inclusive.",
        .kind = Kind::fill,
        .no_grad = "has no tensor inputs",
        .example = "pyburn.linspace(0, 1, 5)",
        .samples = R"(
0, 1, 5
-1.5, 2, 4
3, -3, 7, dtype=f64
0, 1, 1
0, 1, 0
0, 10, 4, dtype=i64
0, 1, 3, dtype=f16, requires_grad=True
0, 1, -1 ! negative)"});
}  // namespace op

namespace {
constinit FunctionInfo functions[] = {
    {.schema = "zeros(int[] size, *, DType? dtype=None, Device? device=None, bool requires_grad=False) -> Tensor",
        .doc = "Creates a tensor filled with 0.",
        .example = "pyburn.zeros(2, 3)",
        .samples = "(2, 3)\n()\n(0,)\n(2,), dtype=i64\n(2,), dtype=f64, requires_grad=True\n(-1,) ! negative size"},
    {.schema = "ones(int[] size, *, DType? dtype=None, Device? device=None, bool requires_grad=False) -> Tensor",
        .doc = "Creates a tensor filled with 1.",
        .example = "pyburn.ones(2, 3)",
        .samples = "(2, 3)\n()\n(0,)\n(2,), dtype=i64\n(2,), dtype=f64, requires_grad=True\n(-1,) ! negative size"},
    {.schema = "empty(int[] size, *, DType? dtype=None, Device? device=None, bool requires_grad=False) -> Tensor",
        .doc = "Creates a tensor whose values are unspecified (currently zeros).",
        .torch = "torch.zeros",
        .example = "pyburn.empty(2, 3).shape",
        .samples = "(2, 3)\n()\n(0,)\n(2,), dtype=i64\n(2,), dtype=f64, requires_grad=True\n(-1,) ! negative size"},
    {.schema = "zeros_like(Tensor input, *, DType? dtype=None, Device? device=None, bool requires_grad=False) -> Tensor",
        .doc = "Creates a tensor of zeros with the shape, dtype and device of input.",
        .example = "pyburn.zeros_like(pyburn.ones(2))",
        .samples = "t(2, 3)\nt()\nt(0)\nt(3, 2).T, dtype=f64\nt(2, 1).expand(2, 3)\nt(2), requires_grad=True\n1 ! Tensor"},
    {.schema = "ones_like(Tensor input, *, DType? dtype=None, Device? device=None, bool requires_grad=False) -> Tensor",
        .doc = "Creates a tensor of ones with the shape, dtype and device of input.",
        .example = "pyburn.ones_like(pyburn.zeros(2))",
        .samples = "t(2, 3)\nt()\nt(0)\nt(3, 2).T, dtype=f64\nt(2, 1).expand(2, 3)\nt(2), requires_grad=True\n1 ! Tensor"},
    {.schema = "full_like(Tensor input, Scalar fill_value, *, DType? dtype=None, Device? device=None, bool requires_grad=False) -> Tensor",
        .doc = "Creates a tensor filled with fill_value with the shape, dtype and device of input.",
        .example = "pyburn.full_like(pyburn.ones(2), 3.)",
        .samples =
            "t(2, 3), 1.5\nt(), 2\nt(0), 1\nt(3, 2).T, 2, dtype=f64\nt(2, 1).expand(2, 3), 1\nt(2), 2, requires_grad=True\n1, 1 ! Tensor"},
    {.schema = "empty_like(Tensor input, *, DType? dtype=None, Device? device=None, bool requires_grad=False) -> Tensor",
        .doc = "Creates a tensor with the shape, dtype and device of input whose values are unspecified (currently zeros).",
        .torch = "torch.zeros_like",
        .example = "pyburn.empty_like(pyburn.ones(2)).shape",
        .samples = "t(2, 3)\nt()\nt(0)\nt(3, 2).T, dtype=f64\nt(2, 1).expand(2, 3)\nt(2), requires_grad=True\n1 ! Tensor"},
    {.schema = "logspace(Scalar start, Scalar end, int steps, float base=10.0, *, DType? dtype=None, Device? device=None, "
               "bool requires_grad=False) -> Tensor",
        .doc = "Creates a 1-d tensor of values base^start to base^end, evenly spaced on a logarithmic scale.",
        .example = "pyburn.logspace(0, 2, 3)",
        .samples = R"(
0, 1, 5
-1.5, 2, 4, 2.0
3, -3, 7, dtype=f64
0, 1, 1
0, 1, 0
0, 3, 4, dtype=i64
0, 1, 3, dtype=f16, requires_grad=True
0, 1, -1 ! negative)"},
    {.schema = "eye(int n, int? m=None, *, DType? dtype=None, Device? device=None, bool requires_grad=False) -> Tensor",
        .doc = "Creates an (n, m) matrix with ones on the diagonal and zeros elsewhere; m defaults to n.",
        .torch = "lambda n, m=None, **k: torch.eye(n, n if m is None else m, **k)",
        .example = "pyburn.eye(2)",
        .samples = "3\n2, 4\n4, 2, dtype=i64\n0\n3, dtype=f64, requires_grad=True\n2, dtype=b8\n-1 ! negative"},
    {.schema = "tril_indices(int row, int col, int offset=0, *, DType? dtype=None, Device? device=None) -> Tensor",
        .doc = "Returns the indices of the lower triangle of a (row, col) matrix as a (2, K) tensor of row and column indices.",
        .torch = "lambda row, col, offset=0, dtype=torch.int64, **k: torch.tril_indices(row, col, offset, dtype=dtype)",
        .example = "pyburn.tril_indices(2, 2)",
        .samples = "3, 3\n2, 4\n4, 2, 1\n3, 3, -1, dtype=i32\n0, 3\n-1, 3 ! negative"},
    {.schema = "triu_indices(int row, int col, int offset=0, *, DType? dtype=None, Device? device=None) -> Tensor",
        .doc = "Returns the indices of the upper triangle of a (row, col) matrix as a (2, K) tensor of row and column indices.",
        .torch = "lambda row, col, offset=0, dtype=torch.int64, **k: torch.triu_indices(row, col, offset, dtype=dtype)",
        .example = "pyburn.triu_indices(2, 2)",
        .samples = "3, 3\n2, 4\n4, 2, 1\n3, 3, -1, dtype=i32\n0, 3\n-1, 3 ! negative"},
    {.schema = "fill_(Tensor input, Scalar value) -> Tensor",
        .doc = "Fills input with value in place.",
        .torch = "lambda x, v: x.clone().fill_(v)",
        .example = "pyburn.ones(2).fill_(3.)",
        .samples = "t(2, 3), 1.5\nt(), 2\nt(0), 1\nt(3, 2).T, 2\n1, 1 ! Tensor"},
    {.schema = "zero_(Tensor input) -> Tensor",
        .doc = "Fills input with 0 in place.",
        .torch = "lambda x: x.clone().zero_()",
        .example = "pyburn.ones(2).zero_()",
        .samples = "t(2, 3)\nt()\nt(0)\nt(3, 2).T\n1 ! Tensor"},
    {.schema = "one_hot(Tensor input, int num_classes=-1) -> Tensor",
        .doc = "Converts class indices (*) to one-hot vectors (*, num_classes) of dtype int64.",
        .torch = "torch.nn.functional.one_hot",
        .example = "pyburn.one_hot(pyburn.tensor([0, 2]), 3)",
        .samples = "index(4, below=3), 3\nindex(2, 2, below=3), 5\nindex(below=3), 3\nindex(0, below=3), 4\nindex(4, 2, below=3).T, "
                   "3\nindex(3, 1, below=3).expand(3, 2), 4\nindex(5, below=4)\nt(3), 2 ! integer\ntensor([0, 3]), 3 ! out of bounds\n"
                   "tensor([0, -1]) ! out of bounds\nindex(0, below=3) ! empty"},
};
}

TensorHandle fn::zeros(const Dims& size, std::optional<DType> dtype, Device* device, bool requires_grad) {
  return full(size, 0.0, dtype.value_or(default_dtype()), device, requires_grad);
}
TensorHandle fn::ones(const Dims& size, std::optional<DType> dtype, Device* device, bool requires_grad) {
  return full(size, 1.0, dtype.value_or(default_dtype()), device, requires_grad);
}
TensorHandle fn::empty(const Dims& size, std::optional<DType> dtype, Device* device, bool requires_grad) {
  return zeros(size, dtype, device, requires_grad);
}
TensorHandle fn::full_like(const TensorHandle& input, const Scalar& value, std::optional<DType> dtype, Device* device, bool requires_grad) {
  return full(input.shape(), value, dtype.value_or(input.dtype()), device ? device : &input.device(), requires_grad);
}
TensorHandle fn::zeros_like(const TensorHandle& input, std::optional<DType> dtype, Device* device, bool requires_grad) {
  return full_like(input, 0, dtype, device, requires_grad);
}
TensorHandle fn::ones_like(const TensorHandle& input, std::optional<DType> dtype, Device* device, bool requires_grad) {
  return full_like(input, 1, dtype, device, requires_grad);
}
TensorHandle fn::empty_like(const TensorHandle& input, std::optional<DType> dtype, Device* device, bool requires_grad) {
  return full_like(input, 0, dtype, device, requires_grad);
}
TensorHandle fn::logspace(
    const Scalar& start, const Scalar& end, int64_t steps, double base, std::optional<DType> dtype, Device* device, bool requires_grad) {
  auto exponent = [&](const Scalar& x) { return dtype && is_integral(*dtype) ? Scalar(std::trunc(x.to_double())) : x; };
  const TensorHandle powers = pow(
      base, linspace(exponent(start), exponent(end), steps, widest_float((device ? *device : default_device()).backend()), device, false));
  return asking_for_gradient(cast(powers, dtype.value_or(default_dtype())), requires_grad);
}
TensorHandle fn::eye(int64_t n, std::optional<int64_t> m, std::optional<DType> dtype, Device* device, bool requires_grad) {
  const int64_t columns = m.value_or(n);
  require<ValueError>(n >= 0 && columns >= 0, "[eye] expected non-negative sizes: got {} and {}", n, columns);
  checked_numel(Shape{n, columns});
  const TensorHandle row = unsqueeze(arange(n, {}, 1, DType::int64, device, false), 1);
  const TensorHandle diagonal = eq(row, arange(columns, {}, 1, DType::int64, device, false));
  return asking_for_gradient(cast(diagonal, dtype.value_or(default_dtype())), requires_grad);
}

namespace {
// The positions where column - row is at least (or at most) the offset.
TensorHandle triangle(int64_t row, int64_t col, int64_t offset, bool upper, std::optional<DType> dtype, Device* device) {
  require<ValueError>(row >= 0 && col >= 0, "expected non-negative sizes: got {} and {}", row, col);
  const TensorHandle rows = unsqueeze(arange(row, {}, 1, DType::int64, device, false), 1),
                     columns = arange(col, {}, 1, DType::int64, device, false);
  const TensorHandle distance = columns - rows, mask = upper ? ge(distance, offset) : le(distance, offset);
  return cast(transpose(nonzero(mask), 0, 1), dtype.value_or(DType::int64));
}
}  // namespace
TensorHandle fn::tril_indices(int64_t row, int64_t col, int64_t offset, std::optional<DType> dtype, Device* device) {
  return triangle(row, col, offset, false, dtype, device);
}
TensorHandle fn::triu_indices(int64_t row, int64_t col, int64_t offset, std::optional<DType> dtype, Device* device) {
  return triangle(row, col, offset, true, dtype, device);
}
TensorHandle fn::fill_(const TensorHandle& input, const Scalar& value) {
  copy_into(input, full(Dims{}, value, input.dtype(), &input.device(), false));
  return input;
}
TensorHandle fn::zero_(const TensorHandle& input) { return fill_(input, 0); }
TensorHandle fn::one_hot(const TensorHandle& input, int64_t num_classes) {
  require<DTypeError>(
      is_integral(input.dtype()) && input.dtype() != DType::boolean, "[one_hot] expected an integer tensor: got {}", input.dtype());
  if (num_classes == -1) {
    require<ValueError>(input.numel() > 0, "[one_hot] an empty tensor requires num_classes: got {}", input.shape());
    num_classes = std::max<int64_t>(int64_t(read_number(amax(input))), 0) + 1;
  }
  require<ValueError>(num_classes > 0, "[one_hot] expected at least one class: got {}", num_classes);
  Dims size = input.shape();
  size.push_back(num_classes);
  const TensorHandle result = zeros(size, DType::int64, &input.device(), false), index = unsqueeze(cast(input, DType::int64), -1);
  const TensorHandle one = ones(Dims{}, DType::int64, &input.device(), false);
  scatter_into(result, result, input.rank(), index, expand(one, index.shape()));
  return result;
}

void register_fill(OpTable& table) {
  table.add({&op::full, &op::arange, &op::linspace});
  table.add(functions);
}

}  // namespace pyburn
