// Windows for the analysis of signals.
#include "pyburn/ops/generated/window.h"

#include <numbers>

#include "pyburn/ops/generated/binary.h"
#include "pyburn/ops/generated/fill.h"
#include "pyburn/ops/generated/special.h"
#include "pyburn/ops/generated/transcendental.h"
#include "pyburn/ops/generated/unary.h"
#include "pyburn/ops/rules.h"

namespace pyburn {
namespace {

constexpr const char* kWindows = "6\n7, False\n1\n0\n2, periodic=True\n5, dtype=f64\n5, requires_grad=True\n-1 ! negative";

constinit FunctionInfo functions[] = {
    {.schema = "hann_window(int window_length, bool periodic=True, *, DType? dtype=None, Device? device=None, bool requires_grad=False) -> "
               "Tensor",
        .doc = "Computes a Hann window.",
        .example = "pyburn.hann_window(4)",
        .samples = kWindows},
    {.schema = "hamming_window(int window_length, bool periodic=True, float alpha=0.54, float beta=0.46, *, DType? dtype=None, Device? "
               "device=None, bool requires_grad=False) -> Tensor",
        .doc = "Computes a Hamming window: alpha - beta * cos(2 * pi * n / N).",
        .example = "pyburn.hamming_window(4)",
        .samples = "6\n7, False\n1\n0\n6, True, 0.5, 0.25\n2, periodic=True\n5, dtype=f64\n5, requires_grad=True\n-1 ! negative"},
    {.schema = "blackman_window(int window_length, bool periodic=True, *, DType? dtype=None, Device? device=None, bool "
               "requires_grad=False) -> Tensor",
        .doc = "Computes a Blackman window.",
        .example = "pyburn.blackman_window(4)",
        .samples = kWindows},
    {.schema = "kaiser_window(int window_length, bool periodic=True, float beta=12.0, *, DType? dtype=None, Device? device=None, bool "
               "requires_grad=False) -> Tensor",
        .doc = "Computes a Kaiser window with shape parameter beta.",
        .example = "pyburn.kaiser_window(4)",
        .samples = "6\n7, False\n1\n0\n6, True, 8.5\n2, periodic=True\n5, dtype=f64\n5, requires_grad=True\n-1 ! negative"},
    {.schema = "bartlett_window(int window_length, bool periodic=True, *, DType? dtype=None, Device? device=None, bool "
               "requires_grad=False) -> Tensor",
        .doc = "Computes a Bartlett (triangular) window.",
        .example = "pyburn.bartlett_window(4)",
        .samples = kWindows},
};

// shape(n / N) for each n.
template <class F>
TensorHandle window(int64_t length, bool periodic, std::optional<DType> dtype, Device* device, bool requires_grad, F shape) {
  require<ValueError>(length >= 0, "window_length must not be negative: got {}", length);
  const DType type = dtype.value_or(default_dtype());
  require<DTypeError>(is_floating(type), "expected a floating dtype: got {}", type);
  if (length <= 1) return ones(Dims{length}, type, device, requires_grad);
  const TensorHandle n = arange(0, length, 1, type, device);
  return asking_for_gradient(shape(n / double(periodic ? length : length - 1)), requires_grad);
}
TensorHandle wave(const TensorHandle& turns) { return cos(turns * (2 * std::numbers::pi)); }

}  // namespace

TensorHandle fn::hann_window(int64_t window_length, bool periodic, std::optional<DType> dtype, Device* device, bool requires_grad) {
  return hamming_window(window_length, periodic, 0.5, 0.5, dtype, device, requires_grad);
}
TensorHandle fn::hamming_window(
    int64_t window_length, bool periodic, double alpha, double beta, std::optional<DType> dtype, Device* device, bool requires_grad) {
  return window(window_length, periodic, dtype, device, requires_grad, [&](const TensorHandle& x) { return alpha - wave(x) * beta; });
}
TensorHandle fn::blackman_window(int64_t window_length, bool periodic, std::optional<DType> dtype, Device* device, bool requires_grad) {
  return window(window_length, periodic, dtype, device, requires_grad,
      [](const TensorHandle& x) { return 0.42 - wave(x) * 0.5 + wave(x * 2.0) * 0.08; });
}
TensorHandle fn::kaiser_window(
    int64_t window_length, bool periodic, double beta, std::optional<DType> dtype, Device* device, bool requires_grad) {
  return window(window_length, periodic, dtype, device, requires_grad, [&](const TensorHandle& x) {
    const TensorHandle side = x * 2.0 - 1.0, inside = maximum(1.0 - side * side, 0.0);
    return i0(sqrt(inside) * beta) / i0(full_like(x, beta));
  });
}
TensorHandle fn::bartlett_window(int64_t window_length, bool periodic, std::optional<DType> dtype, Device* device, bool requires_grad) {
  return window(window_length, periodic, dtype, device, requires_grad, [](const TensorHandle& x) { return 1.0 - abs(x * 2.0 - 1.0); });
}

void register_window(OpTable& table) { table.add(functions); }

}  // namespace pyburn
