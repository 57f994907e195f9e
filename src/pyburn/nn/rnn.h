// RNN, LSTM, GRU: recurrent layers over sequences (T, N, C), or (N, T, C) if batch_first.
#pragma once
#include "pyburn/nn/layer.h"
#include "pyburn/nn/packed_sequence.h"

namespace pyburn::nn {

inline constexpr const char* kTypedOptions = "input_size, hidden_size, bias, batch_first";
inline constexpr const char* kNoProjections = "proj_size argument is only supported for LSTM, not RNN or GRU";

struct RNNConfig {
  int64_t input_size = 1, hidden_size = 1, num_layers = 1;
  std::string nonlinearity = "tanh";  // or 'relu'
  bool bias = true, batch_first = false;
  double dropout = 0;  // between layers
  bool bidirectional = false;
  PB_FIELDS(input_size, hidden_size, num_layers, nonlinearity, bias, batch_first, dropout, bidirectional)
  static constexpr LayerText text{
      .required = 2, .positional = 2, .hidden = "nonlinearity", .switches = "", .refused = kNoProjections, .typed = kTypedOptions};
};

struct GRUConfig {
  int64_t input_size = 1, hidden_size = 1, num_layers = 1;
  bool bias = true, batch_first = false;
  double dropout = 0;
  bool bidirectional = false;
  PB_FIELDS(input_size, hidden_size, num_layers, bias, batch_first, dropout, bidirectional)
  static constexpr LayerText text{.required = 2, .positional = 2, .switches = "", .refused = kNoProjections, .typed = kTypedOptions};
};

struct LSTMConfig {
  int64_t input_size = 1, hidden_size = 1, num_layers = 1;
  bool bias = true, batch_first = false;
  double dropout = 0;
  bool bidirectional = false;
  int64_t proj_size = 0;  // above 0: the states are projected to this size
  PB_FIELDS(input_size, hidden_size, num_layers, bias, batch_first, dropout, bidirectional, proj_size)
  static constexpr LayerText text{.required = 2, .switches = "", .typed = kTypedOptions};
};

// The options common to all three layers.
struct Recurrence {
  const char* cell;  // lstm, gru, tanh or relu
  int64_t input_size, hidden_size, num_layers, proj_size;
  bool bias, batch_first, bidirectional;
  double dropout;

  int64_t gates() const;
  int64_t directions() const { return bidirectional ? 2 : 1; }
  int64_t state_size() const { return proj_size > 0 ? proj_size : hidden_size; }
};
// Parameter names of one layer and direction: weight_ih_l0_reverse, ...
std::vector<std::string> parameter_names(const Recurrence& r, int64_t layer, int64_t direction);

struct RecurrentResult {
  TensorHandle output, hn, cn;  // the outputs of the last layer at each step, and the final states; cells for LSTM only
  auto tensors() { return std::tie(output, hn, cn); }
};

struct PackedRecurrentResult {
  PackedSequence output;
  TensorHandle hn, cn;
  auto tensors() { return std::tie(output.data, hn, cn); }
};

class RecurrentModule {
 public:
  static void register_parameters(Module& m, const Recurrence& r, const Placement& placement);
  static void reset_parameters(Module& m, const Recurrence& r);
  // Absent states are zeros. If `x` has no batch dimension, neither have the states.
  static RecurrentResult forward(Module& m, const Recurrence& r, const TensorHandle& x, TensorHandle h0, TensorHandle c0);
  // `data` holds the steps of sequences of decreasing lengths one after another, batch_sizes[t] rows for step t.
  static RecurrentResult forward_packed(
      Module& m, const Recurrence& r, const TensorHandle& data, const Dims& batch_sizes, TensorHandle h0, TensorHandle c0);
  // States are in the original order of the packed batch.
  static PackedRecurrentResult forward_packed(
      Module& m, const Recurrence& r, const PackedSequence& x, const TensorHandle& h0, const TensorHandle& c0);
};

template <class C>
class RecurrentLayer : public Layer<C> {
 public:
  explicit RecurrentLayer(C config, Placement placement = {}) : Layer<C>(std::move(config)) {
    RecurrentModule::register_parameters(*this, recurrence(), placement);
  }
  RecurrentLayer(C config, Unfilled) : Layer<C>(std::move(config)) {}
  Recurrence recurrence() const;
  void reset_parameters() { RecurrentModule::reset_parameters(*this, recurrence()); }
  RecurrentResult forward(const TensorHandle& x, const TensorHandle& h0 = {}, const TensorHandle& c0 = {}) {
    return RecurrentModule::forward(*this, recurrence(), x, h0, c0);
  }
  RecurrentResult forward_packed(
      const TensorHandle& data, const Dims& batch_sizes, const TensorHandle& h0 = {}, const TensorHandle& c0 = {}) {
    return RecurrentModule::forward_packed(*this, recurrence(), data, batch_sizes, h0, c0);
  }
  PackedRecurrentResult forward(const PackedSequence& x, const TensorHandle& h0 = {}, const TensorHandle& c0 = {}) {
    return RecurrentModule::forward_packed(*this, recurrence(), x, h0, c0);
  }
  std::string type_name() const override;
  PB_COPYABLE(RecurrentLayer)
  std::string extra_repr() const override;
};
using RNN = RecurrentLayer<RNNConfig>;
using GRU = RecurrentLayer<GRUConfig>;
using LSTM = RecurrentLayer<LSTMConfig>;

}  // namespace pyburn::nn
