// Initialisers: fill a tensor in place, without recording gradients.
#pragma once
#include <cmath>
#include <optional>
#include <string_view>

#include "pyburn/tensor/handle.h"

namespace pyburn {
class Generator;
}

namespace pyburn::nn::init {

enum class FanMode : uint8_t { fan_in, fan_out };
struct Fans {
  int64_t in, out;
};
Fans fans(const TensorHandle& weight);  // ValueError for fewer than two dimensions
// The gain of a nonlinearity; `param` is the slope of "leaky_relu".
double calculate_gain(std::string_view nonlinearity, std::optional<double> param = {});

void constant_(const TensorHandle& x, double value);
inline void ones_(const TensorHandle& x) { constant_(x, 1); }
inline void zeros_(const TensorHandle& x) { constant_(x, 0); }
void uniform_(const TensorHandle& x, double low = 0, double high = 1, Generator* generator = nullptr);
void normal_(const TensorHandle& x, double mean = 0, double std = 1, Generator* generator = nullptr);
// Truncated normal distribution: values outside [low, high] are drawn again.
void trunc_normal_(
    const TensorHandle& x, double mean = 0, double std = 1, double low = -2, double high = 2, Generator* generator = nullptr);

// These preserve the variance of activations: xavier for symmetric functions, kaiming for leaky rectifiers of slope `a`.
void xavier_uniform_(const TensorHandle& weight, double gain = 1, Generator* generator = nullptr);
void xavier_normal_(const TensorHandle& weight, double gain = 1, Generator* generator = nullptr);
void kaiming_uniform_(const TensorHandle& weight, double a = 0, FanMode mode = FanMode::fan_in,
    std::string_view nonlinearity = "leaky_relu", Generator* generator = nullptr);
void kaiming_normal_(const TensorHandle& weight, double a = 0, FanMode mode = FanMode::fan_in, std::string_view nonlinearity = "leaky_relu",
    Generator* generator = nullptr);

// Structured initialisers (init_structured.cpp).
void eye_(const TensorHandle& matrix);
void dirac_(const TensorHandle& weight, int64_t groups = 1);  // convolutions that preserve their input
void orthogonal_(const TensorHandle& weight, double gain = 1, Generator* generator = nullptr);
void sparse_(const TensorHandle& matrix, double sparsity, double std = 0.01, Generator* generator = nullptr);

// While one of these lives, initialisers of this thread do nothing: for layers whose values will be loaded.
class Skip {
 public:
  Skip();
  ~Skip();
  Skip(const Skip&) = delete;
};
bool is_skipped();

// PyTorch's default for linear and convolution layers: weight and bias uniform within 1 / sqrt(fan_in).
void layer_default_(const TensorHandle& weight, const TensorHandle& bias);

}  // namespace pyburn::nn::init
