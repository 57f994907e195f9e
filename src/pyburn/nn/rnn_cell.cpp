#include "pyburn/nn/rnn_cell.h"

#include "pyburn/nn/init.h"
#include "pyburn/nn/parts.h"
#include "pyburn/ops/generated/fill.h"
#include "pyburn/ops/generated/movement.h"
#include "pyburn/ops/generated/rnn.h"
#include "pyburn/support/checked.h"
#include "pyburn/support/error.h"

namespace pyburn::nn {

template <class C>
RecurrentCell<C>::RecurrentCell(C config, Placement p) : Layer<C>(std::move(config)) {
  const C& c = this->config_;
  if (c.hidden_size != 0) check_size(c.hidden_size, "hidden_size");  // a cell without state is allowed
  const int64_t rows = Checked(C::gates) * c.hidden_size;
  this->register_parameter("weight_ih", Parameter(fn::empty({rows, c.input_size}, p.dtype, p.device)));
  this->register_parameter("weight_hh", Parameter(fn::empty({rows, c.hidden_size}, p.dtype, p.device)));
  for (const char* name : {"bias_ih", "bias_hh"})
    this->register_parameter(name, c.bias ? Parameter(fn::empty({rows}, p.dtype, p.device)) : TensorHandle());
  reset_parameters();
}

template <class C>
void RecurrentCell<C>::reset_parameters() {
  const int64_t size = this->config_.hidden_size;
  const double bound = size ? 1 / std::sqrt(double(size)) : 0;
  for (const TensorHandle& parameter : this->parameters(false)) init::uniform_(parameter, -bound, bound);
}

template <class C>
template <class Step>
auto RecurrentCell<C>::run(const TensorHandle& x, const TensorHandle& h, const TensorHandle& c, Step step) {
  const std::string name = this->type_name();
  const C& options = this->config_;
  require<ValueError>(x.rank() == 1 || x.rank() == 2, "{}: Expected input to be 1D or 2D, got {}D instead", name, x.rank());
  const bool alone = x.rank() == 1;
  const TensorHandle input = alone ? fn::unsqueeze(x, 0) : x;
  const int64_t rows = input.shape()[0], width = input.shape()[1];
  require(width == options.input_size, "input has inconsistent input_size: got {} expected {}", width, options.input_size);
  const auto batched = [&](const TensorHandle& state, int index) {
    if (!state.defined()) return fn::zeros({rows, options.hidden_size}, x.dtype(), &x.device());
    const std::string what = C::gates == 4 ? format("hx[{}]", index) : std::string("hidden");
    require<ValueError>(
        state.rank() == 1 || state.rank() == 2, "{}: Expected {} to be 1D or 2D, got {}D instead", name, what, state.rank());
    require<ValueError>(state.rank() == x.rank(), "{}: Expected {} to be {}D, got {}D instead", name, what, x.rank(), state.rank());
    const TensorHandle y = alone ? fn::unsqueeze(state, 0) : state;
    require(y.shape()[0] == rows, "Input batch size {} doesn't match hidden{} batch size {}", rows, index, y.shape()[0]);
    require(y.shape()[1] == options.hidden_size, "hidden{} has inconsistent hidden_size: got {}, expected {}", index, y.shape()[1],
        options.hidden_size);
    return y;
  };
  const TensorHandle first = batched(h, 0), cell = batched(c, 1);
  return step(input, first, cell, [alone](const TensorHandle& y) { return alone ? fn::select(y, 0, 0) : y; });
}

template class RecurrentCell<RNNCellConfig>;
template class RecurrentCell<GRUCellConfig>;
template class RecurrentCell<LSTMCellConfig>;

RNNCell::RNNCell(RNNCellConfig config, Placement p) : RecurrentCell(std::move(config), p) {
  const std::string& f = config_.nonlinearity;
  require<ValueError>(f == "tanh" || f == "relu", "Unknown nonlinearity: {}", f);
}

TensorHandle RNNCell::forward(const TensorHandle& x, const TensorHandle& h) {
  return run(x, h, {}, [this](const auto& input, const auto& state, const auto&, auto back) {
    const auto function = config_.nonlinearity == "tanh" ? fn::rnn_tanh_cell : fn::rnn_relu_cell;
    return back(function(input, state, needed(*this, "weight_ih"), needed(*this, "weight_hh"), tensor("bias_ih"), tensor("bias_hh")));
  });
}

TensorHandle GRUCell::forward(const TensorHandle& x, const TensorHandle& h) {
  return run(x, h, {}, [this](const auto& input, const auto& state, const auto&, auto back) {
    return back(fn::gru_cell(input, state, needed(*this, "weight_ih"), needed(*this, "weight_hh"), tensor("bias_ih"), tensor("bias_hh")));
  });
}

std::pair<TensorHandle, TensorHandle> LSTMCell::forward(const TensorHandle& x, const TensorHandle& h, const TensorHandle& c) {
  return run(x, h, c, [this](const auto& input, const auto& state, const auto& cell, auto back) {
    const auto [y, next] =
        fn::lstm_cell(input, {state, cell}, needed(*this, "weight_ih"), needed(*this, "weight_hh"), tensor("bias_ih"), tensor("bias_hh"));
    return std::pair(back(y), back(next));
  });
}

}  // namespace pyburn::nn
