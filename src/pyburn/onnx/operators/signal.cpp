// Signals: Fourier transforms, windows, mel filters.
#include <cmath>
#include <numbers>

#include "pyburn/onnx/call.h"
#include "pyburn/onnx/operators/host_tensors.h"
#include "pyburn/ops/generated/copy.h"
#include "pyburn/ops/generated/dft.h"
#include "pyburn/ops/generated/fill.h"
#include "pyburn/ops/generated/join.h"
#include "pyburn/ops/generated/movement.h"
#include "pyburn/ops/generated/pad.h"
#include "pyburn/ops/generated/rearrange.h"
#include "pyburn/ops/generated/transcendental.h"
#include "pyburn/ops/generated/views.h"
#include "pyburn/ops/operators.h"
#include "pyburn/support/checked.h"
#include "pyburn/support/error.h"

namespace pyburn::onnx {
namespace {

// x cut or filled with zeros to n elements along an axis.
TensorHandle fitted(const TensorHandle& x, int64_t axis, int64_t n) {
  const int64_t size = x.shape()[int(axis)];
  if (n <= size) return n == size ? x : fn::slice(x, axis, 0, n);
  Dims border(2 * (x.rank() - axis), 0);
  border[border.size() - 1] = n - size;
  return fn::constant_pad_nd(x, border, 0.0);
}
TensorHandle as_pairs(const TensorHandle& real) { return fn::stack({real, fn::zeros_like(real)}, -1); }

// All n frequencies of real numbers from the first half: the others are their conjugates. Those of the inverse transform, too.
TensorHandle mirrored(const TensorHandle& half, int64_t axis, int64_t n, bool inverse) {
  const TensorHandle conjugate = reals_on(half.device(), {1.0f, -1.0f}, {2});
  const TensorHandle flipped = half * fn::cast(conjugate, half.dtype());
  const TensorHandle rest = fn::flip(fn::slice(half, axis, 1, n - n / 2), {axis});
  return inverse ? fn::cat({flipped, rest}, axis) : fn::cat({half, rest * fn::cast(conjugate, half.dtype())}, axis);
}

// Real signals end with 1, complex ones with 2 (real, imaginary).
Results dft_along(Call& c, int64_t given_axis) {
  TensorHandle x = c.input(0);
  require(x.rank() >= 2 && (x.shape().back() == 1 || x.shape().back() == 2),
      "[dft] expected an input that ends with 1 (real) or 2 (real, imaginary): got {}", x.shape());
  const int axis = normalise_dim(given_axis, x.rank());
  require<FormatError>(axis < x.rank() - 1, "[dft] axis must not be the last one: got {} for {}", given_axis, x.shape());
  const bool inverse = c.flag("inverse"), onesided = c.flag("onesided"), real = x.shape().back() == 1;
  const int64_t size = x.shape()[axis], whole = inverse && onesided ? std::max<int64_t>(1, 2 * (size - 1)) : size;
  const int64_t n = c.has_input(1) ? c.read_integer(1) : whole;
  require<ValueError>(n > 0 && n <= int64_t(1) << 40, "[dft] dft_length must be positive: got {}", n);
  const double scale = inverse ? 1 / double(n) : 1;
  if (real) x = fn::select(x, -1, 0);
  if (inverse && onesided) {
    const TensorHandle half = fitted(real ? as_pairs(x) : x, axis, n / 2 + 1);
    return fn::unsqueeze(fn::irdft(half, axis, n, scale), -1);
  }
  x = fitted(x, axis, n);
  if (real && onesided) return fn::rdft(x, axis, scale);
  if (real) return mirrored(fn::rdft(x, axis, scale), axis, n, inverse);
  const TensorHandle y = fn::dft(x, axis, inverse, scale);
  return onesided ? fn::slice(y, axis, 0, n / 2 + 1) : y;
}
Results dft_17(Call& c) { return dft_along(c, c.integer("axis", 1)); }
Results dft_20(Call& c) { return dft_along(c, c.has_input(2) ? c.read_integer(2) : -2); }

Results stft(Call& c) {
  TensorHandle x = c.input(0);
  require(x.rank() == 2 || (x.rank() == 3 && (x.shape()[2] == 1 || x.shape()[2] == 2)),
      "[stft] expected a signal (batch, length, 1 or 2): got {}", x.shape());
  const bool complex = x.rank() == 3 && x.shape()[2] == 2, onesided = c.flag("onesided", true);
  if (x.rank() == 3 && !complex) x = fn::select(x, -1, 0);
  const TensorHandle window = c.optional_input(2);
  const int64_t step = c.read_integer(1), length = x.shape()[1];
  const int64_t n = c.has_input(3) ? c.read_integer(3) : window.defined() ? window.shape().numel() : length;
  require<ValueError>(
      step > 0 && n > 0 && n <= length, "[stft] frame_step and frame_length do not fit {}: got {} and {}", x.shape(), step, n);
  require(!window.defined() || (window.rank() == 1 && window.shape()[0] == n), "[stft] expected a window of {} elements", n);
  require<FormatError>(!complex || !onesided, "[stft] onesided needs a real signal");
  TensorHandle frames = fn::unfold(x, 1, n, step);  // (batch, frames, n), or (batch, frames, 2, n)
  if (window.defined()) frames = frames * fn::cast(window, frames.dtype());
  if (onesided) return fn::rdft(frames, -1);
  return fn::dft(complex ? fn::transpose(frames, -1, -2) : as_pairs(frames), -2);
}

// a0 - a1 cos(turn) + a2 cos(2 turn), over a whole turn.
Results cosine_window(Call& c, double a0, double a1, double a2) {
  const int64_t n = c.read_integer(0);
  require<ValueError>(n >= 0 && n <= int64_t(1) << 40, "[window] expected a size of at least 0: got {}", n);
  const DType dtype = c.dtype("output_datatype", DType::float32);
  require<FormatError>(is_floating(dtype), "[window] expected a floating output_datatype: got {}", dtype);
  const int64_t steps = std::max<int64_t>(1, c.flag("periodic", true) ? n : n - 1);
  const TensorHandle turn = fn::arange(0, n, 1, DType::float64, &c.device()) * (2 * std::numbers::pi / double(steps));
  TensorHandle y = a0 - fn::cos(turn) * a1;
  if (a2 != 0) y = y + fn::cos(turn * 2.0) * a2;
  return fn::cast(y, dtype);
}
Results hann_window(Call& c) { return cosine_window(c, 0.5, 0.5, 0); }
Results hamming_window(Call& c) { return cosine_window(c, 25. / 46, 21. / 46, 0); }
Results blackman_window(Call& c) { return cosine_window(c, 0.42, 0.5, 0.08); }

// Triangles between neighbours that are evenly spaced on the mel scale: a column for each.
Results mel_weight_matrix(Call& c) {
  const int64_t bands = c.read_integer(0), length = c.read_integer(1), rate = c.read_integer(2);
  const double low_hertz = c.read_number(3), high_hertz = c.read_number(4);
  require<ValueError>(
      bands > 0 && length > 0 && rate > 0, "[mel_weight_matrix] sizes must be positive: got {}, {} and {}", bands, length, rate);
  const int64_t bins = length / 2 + 1;
  require<ValueError>(
      Checked(bands) * bins < int64_t(1) << 31, "[mel_weight_matrix] the matrix is too large: got {} times {}", bins, bands);
  const auto mel = [](double hertz) { return 2595 * std::log10(1 + hertz / 700); };
  const double low = mel(low_hertz), step = (mel(high_hertz) - low) / double(bands + 2);
  const auto edge = [&](int64_t i) {
    const double hertz = 700 * (std::pow(10.0, (double(i) * step + low) / 2595) - 1);
    const double bin = std::floor(double(length + 1) * hertz / double(rate));
    require<ValueError>(
        bin >= 0 && bin < double(bins), "[mel_weight_matrix] the edges lie outside of the spectrum: got {} of {} bins", bin, bins);
    return int64_t(bin);
  };
  std::vector<float> weights(size_t(bins * bands), 0.0f);
  for (int64_t i = 0; i < bands; ++i) {
    const int64_t lower = edge(i), center = edge(i + 1), higher = edge(i + 2);
    const auto at = [&](int64_t bin) -> float& { return weights[size_t(bin * bands + i)]; };
    if (lower == center) at(center) = 1;
    else
      for (int64_t k = lower; k <= center; ++k) at(k) = float(double(k - lower) / double(center - lower));
    for (int64_t k = center; k < higher; ++k) at(k) = float(double(higher - k) / double(higher - center));
  }
  const TensorHandle y = reals_on(c.device(), std::move(weights), {bins, bands});
  const DType dtype = c.dtype("output_datatype", DType::float32);
  return dtype == DType::float32 ? y : fn::cast(y, dtype);
}

constexpr Operator kRows[] = {
    {"", "DFT", 17, dft_17, inputs_at(1)},
    {"", "DFT", 20, dft_20, inputs_at(1, 2)},
    {"", "STFT", 17, stft, inputs_at(1, 3)},
    {"", "HannWindow", 17, hann_window, inputs_at(0)},
    {"", "HammingWindow", 17, hamming_window, inputs_at(0)},
    {"", "BlackmanWindow", 17, blackman_window, inputs_at(0)},
    {"", "MelWeightMatrix", 17, mel_weight_matrix, inputs_at(0, 1, 2, 3, 4)},
};

}  // namespace

std::span<const Operator> signal_operators() { return kRows; }

}  // namespace pyburn::onnx
