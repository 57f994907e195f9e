#include "pyburn/nn/rnn.h"

#include "pyburn/nn/init.h"
#include "pyburn/nn/parts.h"
#include "pyburn/ops/generated/dropout.h"
#include "pyburn/ops/generated/fill.h"
#include "pyburn/ops/generated/index.h"
#include "pyburn/ops/generated/join.h"
#include "pyburn/ops/generated/movement.h"
#include "pyburn/ops/generated/rearrange.h"
#include "pyburn/ops/generated/rnn.h"
#include "pyburn/ops/generated/views.h"
#include "pyburn/runtime/autocast.h"
#include "pyburn/support/checked.h"
#include "pyburn/support/error.h"
#include "pyburn/support/log.h"

namespace pyburn::nn {
namespace {

bool has_cells(const Recurrence& r) { return std::string_view(r.cell) == "lstm"; }

void check(const Recurrence& r) {
  check_size(r.input_size, "input_size");
  check_size(r.hidden_size, "hidden_size");
  check_size(r.num_layers, "num_layers");
  require<ValueError>(r.dropout >= 0 && r.dropout <= 1,
      "dropout should be a number in range [0, 1] representing the probability of an element being zeroed: got {}", r.dropout);
  if (r.dropout > 0 && r.num_layers == 1)
    warn(format("dropout is applied after all but the last recurrent layer, so that one layer has none: got dropout={} and num_layers=1",
        r.dropout));
  require<ValueError>(r.proj_size >= 0, "proj_size should be a positive integer or zero to disable projections: got {}", r.proj_size);
  require<ValueError>(r.proj_size < r.hidden_size, "proj_size has to be smaller than hidden_size: got {}", r.proj_size);
}

Tensors parameters_of(const Module& m, const Recurrence& r, int64_t layer, int64_t direction) {
  Tensors list;
  for (const std::string& name : parameter_names(r, layer, direction)) list.push_back(needed(m, name));
  return list;
}

// One call of the operation for any of the cells.
RecurrentResult run(const Recurrence& r, const TensorHandle& x, const TensorHandle& h0, const TensorHandle& c0, const Tensors& params,
    int64_t layers, bool train, bool bidirectional, bool batch_first) {
  const std::string_view cell = r.cell;
  if (cell == "lstm") {
    auto [y, h, c] = fn::lstm(x, {h0, c0}, params, r.bias, layers, r.dropout, train, bidirectional, batch_first);
    return {y, h, c};
  }
  auto [y, h] = cell == "gru"    ? fn::gru(x, h0, params, r.bias, layers, r.dropout, train, bidirectional, batch_first)
                : cell == "tanh" ? fn::rnn_tanh(x, h0, params, r.bias, layers, r.dropout, train, bidirectional, batch_first)
                                 : fn::rnn_relu(x, h0, params, r.bias, layers, r.dropout, train, bidirectional, batch_first);
  return {y, h, {}};
}

// The first states, zeros where absent, checked against what the layer wants.
TensorHandle first_state(
    const Recurrence& r, const TensorHandle& given, const TensorHandle& x, int64_t batch, int64_t size, const char* what) {
  const Dims wanted{Checked(r.num_layers) * r.directions(), batch, size};
  if (!given.defined()) return fn::zeros(wanted, x.dtype(), &x.device());
  require(given.shape() == Shape(wanted), "Expected {} size {}, got {}", what, Shape(wanted), given.shape());
  return given;
}

// Steps of packed data that have the same number of rows.
struct Stretch {
  int64_t begin, steps, rows;
};
std::vector<Stretch> stretches(const Dims& batch_sizes) {
  std::vector<Stretch> list;
  int64_t begin = 0;
  for (int64_t rows : batch_sizes) {
    require<ValueError>(rows > 0 && (list.empty() || rows <= list.back().rows),
        "batch_sizes of a packed sequence must be positive and not increasing: got {}", batch_sizes);
    if (list.empty() || list.back().rows != rows) list.push_back({begin, 0, rows});
    ++list.back().steps;
    begin += rows;
  }
  return list;
}

TensorHandle rows(const TensorHandle& state, int64_t begin, int64_t end) {
  return state.defined() ? fn::slice(state, 1, begin, end) : state;
}
TensorHandle joined(const TensorHandle& a, const TensorHandle& b) { return a.defined() ? fn::cat({a, b}, 1) : a; }

// One layer in one direction over packed data. Going on, sequences end: their states are set aside. Going back, sequences begin.
RecurrentResult run_packed(const Recurrence& r, const TensorHandle& data, const std::vector<Stretch>& parts, const TensorHandle& h0,
    const TensorHandle& c0, const Tensors& params, bool reverse) {
  Recurrence one = r;
  one.dropout = 0;
  Tensors outputs;
  outputs.resize(parts.size());
  TensorHandle h, c, ended_h, ended_c;
  int64_t width = 0;
  for (size_t i = 0; i < parts.size(); ++i) {
    const size_t at = reverse ? parts.size() - 1 - i : i;
    const Stretch& s = parts[at];
    if (i == 0) {
      h = rows(h0, 0, s.rows), c = rows(c0, 0, s.rows);
    } else if (reverse) {
      h = joined(h, rows(h0, width, s.rows)), c = joined(c, rows(c0, width, s.rows));
    } else {
      const TensorHandle end_h = rows(h, s.rows, width), end_c = rows(c, s.rows, width);
      ended_h = ended_h.defined() ? joined(end_h, ended_h) : end_h;
      ended_c = ended_c.defined() ? joined(end_c, ended_c) : end_c;
      h = rows(h, 0, s.rows), c = rows(c, 0, s.rows);
    }
    width = s.rows;
    TensorHandle x = fn::reshape(fn::slice(data, 0, s.begin, s.begin + s.steps * s.rows), {s.steps, s.rows, data.shape()[1]});
    const RecurrentResult result = run(one, reverse ? fn::flip(x, {0}) : x, h, c, params, 1, false, false, false);
    outputs[at] = fn::flatten(reverse ? fn::flip(result.output, {0}) : result.output, 0, 1);
    h = result.hn, c = result.cn;
  }
  if (ended_h.defined()) h = joined(h, ended_h), c = joined(c, ended_c);
  return {fn::cat(outputs, 0), h, c};
}

}  // namespace

int64_t Recurrence::gates() const { return has_cells(*this) ? 4 : std::string_view(cell) == "gru" ? 3 : 1; }

std::vector<std::string> parameter_names(const Recurrence& r, int64_t layer, int64_t direction) {
  const std::string suffix = "_l" + std::to_string(layer) + (direction ? "_reverse" : "");
  std::vector<std::string> names{"weight_ih" + suffix, "weight_hh" + suffix};
  if (r.bias) names.push_back("bias_ih" + suffix), names.push_back("bias_hh" + suffix);
  if (r.proj_size > 0) names.push_back("weight_hr" + suffix);
  return names;
}

void RecurrentModule::register_parameters(Module& m, const Recurrence& r, const Placement& p) {
  check(r);
  const int64_t rows = r.gates() * r.hidden_size, state = r.state_size();
  for (int64_t layer = 0; layer < r.num_layers; ++layer)
    for (int64_t d = 0; d < r.directions(); ++d) {
      const int64_t width = layer == 0 ? r.input_size : state * r.directions();
      for (const std::string& name : parameter_names(r, layer, d)) {
        const Dims size = name.starts_with("weight_ih")   ? Dims{rows, width}
                          : name.starts_with("weight_hh") ? Dims{rows, state}
                          : name.starts_with("weight_hr") ? Dims{r.proj_size, r.hidden_size}
                                                          : Dims{rows};
        m.register_parameter(name, Parameter(fn::empty(size, p.dtype, p.device)));
      }
    }
  reset_parameters(m, r);
}

void RecurrentModule::reset_parameters(Module& m, const Recurrence& r) {
  const double bound = 1 / std::sqrt(double(r.hidden_size));
  for (const TensorHandle& parameter : m.parameters(false)) init::uniform_(parameter, -bound, bound);
}

RecurrentResult RecurrentModule::forward(Module& m, const Recurrence& r, const TensorHandle& x, TensorHandle h0, TensorHandle c0) {
  require<ValueError>(x.rank() == 2 || x.rank() == 3, "{}: Expected input to be 2D or 3D, got {}D instead", m.type_name(), x.rank());
  require(x.shape()[x.rank() - 1] == r.input_size, "input.size(-1) must be equal to input_size. Expected {}, got {}", r.input_size,
      x.shape()[x.rank() - 1]);
  const DType wanted = needed(m, parameter_names(r, 0, 0)[0]).dtype();
  require<ValueError>(x.dtype() == wanted || autocast_mode().enabled,
      "RNN input dtype ({}) does not match weight dtype ({}). Convert input: input.to({}), or convert model: model.to({})", x.dtype(),
      wanted, wanted, x.dtype());
  const bool alone = x.rank() == 2;
  if (alone) {
    for (TensorHandle* state : {&h0, &c0}) {
      if (!state->defined()) continue;
      require(state->rank() == 2, "For unbatched 2-D input, hx should also be 2-D but got {}-D tensor", state->rank());
      *state = fn::unsqueeze(*state, 1);
    }
  }
  const int batch_axis = r.batch_first ? 0 : 1;
  const TensorHandle input = alone ? fn::unsqueeze(x, batch_axis) : x;
  const int64_t batch = input.shape()[batch_axis];
  for (const TensorHandle* state : {&h0, &c0})
    if (state->defined()) require(state->rank() == 3, "For batched 3-D input, hx should also be 3-D but got {}-D tensor", state->rank());
  h0 = first_state(r, h0, x, batch, r.state_size(), has_cells(r) ? "hidden[0]" : "hidden");
  if (has_cells(r)) c0 = first_state(r, c0, x, batch, r.hidden_size, "hidden[1]");
  Tensors params;
  for (int64_t layer = 0; layer < r.num_layers; ++layer)
    for (int64_t d = 0; d < r.directions(); ++d)
      for (const TensorHandle& p : parameters_of(m, r, layer, d)) params.push_back(p);
  RecurrentResult result = run(r, input, h0, c0, params, r.num_layers, m.training(), r.bidirectional, r.batch_first);
  if (!alone) return result;
  const TensorHandle cn = result.cn.defined() ? fn::select(result.cn, 1, 0) : result.cn;
  return {fn::select(result.output, batch_axis, 0), fn::select(result.hn, 1, 0), cn};
}

RecurrentResult RecurrentModule::forward_packed(
    Module& m, const Recurrence& r, const TensorHandle& data, const Dims& batch_sizes, TensorHandle h0, TensorHandle c0) {
  require(
      data.rank() == 2 && data.shape()[1] == r.input_size, "expected packed data of shape (rows, {}): got {}", r.input_size, data.shape());
  const std::vector<Stretch> parts = stretches(batch_sizes);
  require<ValueError>(!parts.empty() && parts.back().begin + parts.back().steps * parts.back().rows == data.shape()[0],
      "the sum of batch_sizes of a packed sequence must equal its {} rows: got {}", data.shape()[0], batch_sizes);
  h0 = first_state(r, h0, data, batch_sizes[0], r.state_size(), has_cells(r) ? "hidden[0]" : "hidden");
  if (has_cells(r)) c0 = first_state(r, c0, data, batch_sizes[0], r.hidden_size, "hidden[1]");
  TensorHandle input = data;
  Tensors hn, cn;
  for (int64_t layer = 0; layer < r.num_layers; ++layer) {
    Tensors outputs;
    for (int64_t d = 0; d < r.directions(); ++d) {
      const int64_t at = layer * r.directions() + d;
      const TensorHandle h = fn::slice(h0, 0, at, at + 1), c = has_cells(r) ? fn::slice(c0, 0, at, at + 1) : c0;
      const RecurrentResult one = run_packed(r, input, parts, h, c, parameters_of(m, r, layer, d), d == 1);
      outputs.push_back(one.output);
      hn.push_back(one.hn);
      if (has_cells(r)) cn.push_back(one.cn);
    }
    input = fn::cat(outputs, 1);
    if (layer + 1 < r.num_layers && r.dropout > 0) input = fn::dropout(input, r.dropout, m.training());
  }
  return {input, fn::cat(hn, 0), has_cells(r) ? fn::cat(cn, 0) : TensorHandle()};
}

PackedRecurrentResult RecurrentModule::forward_packed(
    Module& m, const Recurrence& r, const PackedSequence& x, const TensorHandle& h0, const TensorHandle& c0) {
  const auto in_order = [](const TensorHandle& state, const TensorHandle& order) {
    return state.defined() && order.defined() ? fn::index_select(state, 1, order) : state;
  };
  const RecurrentResult y = forward_packed(m, r, x.data, x.batch_sizes, in_order(h0, x.sorted_indices), in_order(c0, x.sorted_indices));
  const PackedSequence output{y.output, x.batch_sizes, x.sorted_indices, x.unsorted_indices};
  return {output, in_order(y.hn, x.unsorted_indices), in_order(y.cn, x.unsorted_indices)};
}

template <class C>
Recurrence RecurrentLayer<C>::recurrence() const {
  const C& c = this->config_;
  Recurrence r{"gru", c.input_size, c.hidden_size, c.num_layers, 0, c.bias, c.batch_first, c.bidirectional, c.dropout};
  if constexpr (requires { c.proj_size; }) r.cell = "lstm", r.proj_size = c.proj_size;
  if constexpr (requires { c.nonlinearity; }) {
    require<ValueError>(
        c.nonlinearity == "tanh" || c.nonlinearity == "relu", "Unknown nonlinearity '{}'. Select from 'tanh' or 'relu'.", c.nonlinearity);
    r.cell = c.nonlinearity == "tanh" ? "tanh" : "relu";
  }
  return r;
}

template <class C>
std::string RecurrentLayer<C>::type_name() const {
  if constexpr (std::is_same_v<C, LSTMConfig>) return "LSTM";
  else return std::is_same_v<C, GRUConfig> ? "GRU" : "RNN";
}

template <class C>
std::string RecurrentLayer<C>::extra_repr() const {
  const std::string text =
      config_text({&attr_type<C>, const_cast<C*>(&this->config_)}, {.positional = 2, .hidden = "nonlinearity, proj_size"});
  if constexpr (requires { this->config_.proj_size; }) {
    if (this->config_.proj_size == 0) return text;
    const size_t sizes = (std::to_string(this->config_.input_size) + ", " + std::to_string(this->config_.hidden_size)).size();
    return text.substr(0, sizes) + ", proj_size=" + std::to_string(this->config_.proj_size) + text.substr(sizes);
  }
  return text;
}

template class RecurrentLayer<RNNConfig>;
template class RecurrentLayer<GRUConfig>;
template class RecurrentLayer<LSTMConfig>;

}  // namespace pyburn::nn
