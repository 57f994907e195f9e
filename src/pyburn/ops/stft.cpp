// Short-time Fourier transforms of real signals, and back. Complex numbers are pairs (real, imaginary) in the last dimension.
#include "pyburn/ops/generated/stft.h"

#include <cmath>

#include "pyburn/ops/generated/binary.h"
#include "pyburn/ops/generated/dft.h"
#include "pyburn/ops/generated/fill.h"
#include "pyburn/ops/generated/join.h"
#include "pyburn/ops/generated/logic.h"
#include "pyburn/ops/generated/movement.h"
#include "pyburn/ops/generated/pad.h"
#include "pyburn/ops/generated/unfold.h"
#include "pyburn/ops/generated/views.h"
#include "pyburn/ops/rules.h"
#include "pyburn/ops/value_checks.h"
#include "pyburn/support/checked.h"

namespace pyburn {
namespace {

constinit FunctionInfo functions[] = {
    {.schema = "stft(Tensor input, int n_fft, int? hop_length=None, int? win_length=None, Tensor? window=None, bool center=True, str "
               "pad_mode='reflect', bool normalized=False, bool? onesided=None, bool? return_complex=None) -> Tensor",
        .doc =
            "Computes the short-time Fourier transform of a real signal (T) or batch (B, T): frequencies of windows, as (..., n_fft / 2 + "
            "1, frames, 2) with pairs (real, imaginary) last. Complex dtypes do not exist yet: return_complex must be False.",
        .torch = "lambda x, n, hop_length=None, win_length=None, window=None, **k: torch.view_as_real(torch.stft(x, n, hop_length, "
                 "win_length, window, **{**k, 'return_complex': True}))",
        .example = "pyburn.stft(pyburn.arange(16.), 8, return_complex=False).shape",
        .samples = R"(
t(20), 8, return_complex=False
t(2, 20), 8, 3, return_complex=False
t(20), 8, win_length=5, window=t(5), return_complex=False
t(2, 20), 7, 2, window=t(7), center=False, return_complex=False
t(20), 8, normalized=True, return_complex=False
t(20), 6, pad_mode='constant', onesided=False, return_complex=False
t(20, dtype=f64), 8, return_complex=False
t(20, 2).T, 8, return_complex=False
t(1, 20).expand(2, 20), 8, return_complex=False
t(), 8, return_complex=False ! dimensions
t(0), 8, center=False, return_complex=False ! shorter
t(20), 8 ! return_complex
t(20), 8, return_complex=True ! complex
t(20), 0, return_complex=False ! n_fft
t(20), 32, center=False, return_complex=False ! n_fft
t(20), 8, 0, return_complex=False ! hop_length
t(20), 8, win_length=9, return_complex=False ! win_length
t(20), 8, window=t(5), return_complex=False ! window)"},
    {.schema = "istft(Tensor input, int n_fft, int? hop_length=None, int? win_length=None, Tensor? window=None, bool center=True, bool "
               "normalized=False, bool? onesided=None, int? length=None, bool return_complex=False) -> Tensor",
        .doc =
            "Computes the signal whose short-time Fourier transform (stft) is nearest to input (..., n_fft / 2 + 1, frames, 2), by least "
            "squares.",
        .torch = "lambda x, n, *a, **k: torch.istft(torch.view_as_complex(x.contiguous()), n, *a, **k)",
        .example = "pyburn.istft(pyburn.stft(pyburn.arange(16.), 8, return_complex=False), 8)",
        .samples = R"(
t(5, 9, 2), 8
t(2, 5, 9, 2), 8, 3
t(5, 9, 2), 8, 2, window=t(8)
t(5, 9, 2), 8, 1, win_length=5, window=positive(5)
t(5, 9, 2), 8, length=13
t(5, 9, 2), 8, normalized=True
t(4, 9, 2), 7, 2, center=False
t(6, 9, 2), 6, onesided=False
t(5, 9, 2, dtype=f64), 8
t(2, 9, 5).permute(2, 1, 0), 8
t(1, 9, 2).expand(5, 9, 2), 8
t(), 8 ! dimensions
t(5, 0, 2), 8 ! frame
t(5, 9, 3), 8 ! dimensions
t(5, 9, 2), 12 ! frequencies
t(5, 9, 2), 8, window=t(5) ! window
t(5, 9, 2), 8, return_complex=True ! complex)"},
};

struct Frames {
  int64_t hop = 0;
  TensorHandle window;  // of n_fft elements, or undefined: a rectangle over all of them
};
Frames frames_of(const char* op, int64_t n_fft, std::optional<int64_t> hop_length, std::optional<int64_t> win_length,
    const TensorHandle& window, const TensorHandle& like) {
  require<ValueError>(n_fft > 0, "[{}] n_fft must be positive: got {}", op, n_fft);
  const int64_t hop = hop_length.value_or(n_fft / 4), length = win_length.value_or(n_fft);
  require<ValueError>(hop > 0, "[{}] hop_length must be positive: got {}", op, hop);
  require<ValueError>(length > 0 && length <= n_fft, "[{}] win_length must be between 1 and n_fft = {}: got {}", op, n_fft, length);
  require(!window.defined() || (window.rank() == 1 && window.shape()[0] == length), "[{}] expected a window of {} elements: got {}", op,
      length, window.defined() ? window.shape() : Shape{});
  if (length == n_fft) return {hop, window};
  const int64_t left = (n_fft - length) / 2;
  const TensorHandle shape = window.defined() ? window : ones(Dims{length}, like.dtype(), &like.device());
  return {hop, constant_pad_nd(shape, {left, n_fft - length - left})};
}

}  // namespace

TensorHandle fn::stft(const TensorHandle& input, int64_t n_fft, std::optional<int64_t> hop_length, std::optional<int64_t> win_length,
    const TensorHandle& window, bool center, const std::string& pad_mode, bool normalized, std::optional<bool> onesided,
    std::optional<bool> return_complex) {
  require<ValueError>(return_complex.has_value(), "[stft] return_complex must be given for real inputs: pass return_complex=False");
  require<ValueError>(!*return_complex, "[stft] complex dtypes do not exist yet: pass return_complex=False for pairs (real, imaginary)");
  require(input.rank() == 1 || input.rank() == 2, "[stft] expected 1 or 2 dimensions: got {}", input.shape());
  require<DTypeError>(is_floating(input.dtype()), "[stft] expected a floating dtype: got {}", input.dtype());
  const auto [hop, shape] = frames_of("stft", n_fft, hop_length, win_length, window, input);
  TensorHandle x = input.rank() == 1 ? unsqueeze(input, 0) : input;
  if (center) x = squeeze(pad(unsqueeze(x, 0), {n_fft / 2, n_fft / 2}, pad_mode), Dims{0});
  require(x.shape()[1] >= n_fft, "[stft] the signal is shorter than n_fft = {}: got {}", n_fft, input.shape());
  TensorHandle frames = unfold(x, 1, n_fft, hop);  // (B, frames, n_fft)
  if (shape.defined()) frames = frames * shape;
  const double scale = normalized ? 1 / std::sqrt(double(n_fft)) : 1;
  const TensorHandle y = onesided.value_or(true) ? rdft(frames, -1, scale) : dft(stack({frames, zeros_like(frames)}, -1), -2, false, scale);
  const TensorHandle result = transpose(y, 1, 2);
  return input.rank() == 1 ? squeeze(result, Dims{0}) : result;
}

TensorHandle fn::istft(const TensorHandle& input, int64_t n_fft, std::optional<int64_t> hop_length, std::optional<int64_t> win_length,
    const TensorHandle& window, bool center, bool normalized, std::optional<bool> onesided, std::optional<int64_t> length,
    bool return_complex) {
  require<ValueError>(!return_complex, "[istft] complex dtypes do not exist yet: the signal is real");
  const bool batch = input.rank() == 4;
  require((batch || input.rank() == 3) && input.shape().back() == 2, "[istft] expected dimensions (..., frequencies, frames, 2): got {}",
      input.shape());
  require<DTypeError>(is_floating(input.dtype()), "[istft] expected a floating dtype: got {}", input.dtype());
  const auto [hop, shape] = frames_of("istft", n_fft, hop_length, win_length, window, input);
  const TensorHandle x = transpose(batch ? input : unsqueeze(input, 0), 1, 2);  // (B, frames, frequencies, 2)
  const int64_t frames = x.shape()[1], half = n_fft / 2 + 1, frequencies = onesided.value_or(true) ? half : n_fft;
  require(frames > 0, "[istft] expected at least one frame: got {}", input.shape());
  require(x.shape()[2] == frequencies, "[istft] expected {} frequencies of n_fft = {}: got {}", frequencies, n_fft, input.shape());
  const double scale = normalized ? 1 / std::sqrt(double(n_fft)) : 1 / double(n_fft);
  TensorHandle y = irdft(slice(x, 2, 0, half), 2, n_fft, scale);
  TensorHandle weights = shape.defined() ? shape : ones(Dims{n_fft}, input.dtype(), &input.device());
  y = y * weights;
  const int64_t expected = Checked(n_fft) + Checked(hop) * (frames - 1);
  auto overlapped = [&](const TensorHandle& t) {  // (B, frames, n_fft) added up where frames overlap: (B, expected)
    return flatten(col2im(transpose(t, 1, 2), {1, expected}, {1, n_fft}, {1}, {0}, {1, hop}), 1);
  };
  y = overlapped(y);
  const TensorHandle squares = overlapped(expand(unsqueeze(weights * weights, 0), {1, frames, n_fft}));
  const int64_t start = center ? n_fft / 2 : 0, all = center ? expected - n_fft / 2 : expected;
  const int64_t end = length ? std::min<int64_t>(Checked(start) + *length, expected) : all;
  require<ValueError>(start < end, "[istft] expected a length of at least 1: got {}", end - start);
  const TensorHandle envelope = slice(squares, 1, start, end);
  require<ValueError>(
      holds_everywhere(gt(envelope, 1e-11)), "[istft] the windows leave gaps: every element must lie in a window that is not 0 there");
  y = slice(y, 1, start, end) / envelope;
  if (length && end - start < *length) y = constant_pad_nd(y, {0, *length - (end - start)});
  return batch ? y : squeeze(y, Dims{0});
}

void register_stft(OpTable& table) { table.add(functions); }

}  // namespace pyburn
