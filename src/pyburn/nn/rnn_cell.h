// RNNCell, LSTMCell, GRUCell: one step of a recurrence, for inputs (N, C) or (C).
#pragma once
#include "pyburn/nn/layer.h"

namespace pyburn::nn {

struct RNNCellConfig {
  int64_t input_size = 1, hidden_size = 1;
  bool bias = true;
  std::string nonlinearity = "tanh";  // or 'relu'
  PB_FIELDS(input_size, hidden_size, bias, nonlinearity)
  static constexpr int gates = 1;
  static constexpr LayerText text{.required = 2, .positional = 2, .switches = "", .truths = "bias"};
};
struct GRUCellConfig {
  int64_t input_size = 1, hidden_size = 1;
  bool bias = true;
  PB_FIELDS(input_size, hidden_size, bias)
  static constexpr int gates = 3;
  static constexpr LayerText text{.required = 2, .positional = 2, .switches = "", .truths = "bias"};
};
struct LSTMCellConfig : GRUCellConfig {
  static constexpr int gates = 4;
};

template <class C>
class RecurrentCell : public Layer<C> {
 public:
  explicit RecurrentCell(C config, Placement placement = {});
  RecurrentCell(C config, Unfilled) : Layer<C>(std::move(config)) {}
  void reset_parameters();

 protected:
  // Runs step(x, h, c) on batches; absent states are zeros, and unbatched inputs get a temporary batch dimension.
  template <class Step>
  auto run(const TensorHandle& x, const TensorHandle& h, const TensorHandle& c, Step step);
};

class RNNCell : public RecurrentCell<RNNCellConfig> {
 public:
  explicit RNNCell(RNNCellConfig config, Placement placement = {});
  RNNCell(RNNCellConfig config, Unfilled u) : RecurrentCell(std::move(config), u) {}
  TensorHandle forward(const TensorHandle& x, const TensorHandle& h);
  PB_MODULE(RNNCell)
};

class GRUCell : public RecurrentCell<GRUCellConfig> {
 public:
  using RecurrentCell::RecurrentCell;
  TensorHandle forward(const TensorHandle& x, const TensorHandle& h);
  PB_MODULE(GRUCell)
};

class LSTMCell : public RecurrentCell<LSTMCellConfig> {
 public:
  using RecurrentCell::RecurrentCell;
  std::pair<TensorHandle, TensorHandle> forward(const TensorHandle& x, const TensorHandle& h, const TensorHandle& c);
  PB_MODULE(LSTMCell)
};

}  // namespace pyburn::nn
