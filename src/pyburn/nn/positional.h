// Positional encodings for transformers; as in Burn.
#pragma once
#include "pyburn/nn/layer.h"

namespace pyburn::nn {

struct PositionalEncodingConfig {
  int64_t d_model = 2, max_sequence_size = 5000;
  double max_timescale = 10000;
  PB_FIELDS(d_model, max_sequence_size, max_timescale)
  static constexpr LayerText text{.required = 1, .always = 3};
};

// Adds sines and cosines of decreasing frequencies to tokens (N, S, d_model).
class PositionalEncoding : public Layer<PositionalEncodingConfig> {
 public:
  explicit PositionalEncoding(PositionalEncodingConfig config, Placement placement = {});
  PositionalEncoding(PositionalEncodingConfig config, Unfilled) : Layer(std::move(config)) {}
  TensorHandle forward(const TensorHandle& x) override;
  PB_MODULE(PositionalEncoding)
};

struct RotaryEncodingConfig {
  int64_t max_sequence_length = 1, d_model = 2;
  double theta = 10000;
  PB_FIELDS(max_sequence_length, d_model, theta)
  static constexpr LayerText text{.required = 2, .always = 3};
};

// Rotary encoding: rotates each pair of features of tokens (..., S, d_model) by an angle proportional to the position.
class RotaryEncoding : public Layer<RotaryEncodingConfig> {
 public:
  explicit RotaryEncoding(RotaryEncodingConfig config, Placement placement = {});
  RotaryEncoding(RotaryEncodingConfig config, Unfilled) : Layer(std::move(config)) {}
  TensorHandle forward(const TensorHandle& x) override { return forward_from(x, 0); }
  TensorHandle forward_from(const TensorHandle& x, int64_t start);  // the first token is at position `start`
  PB_MODULE(RotaryEncoding)
};

// (size, d_model): sines at even features, cosines at odd ones.
TensorHandle sinusoids(int64_t size, int64_t d_model, double max_timescale, const Placement& placement = {});

}  // namespace pyburn::nn
