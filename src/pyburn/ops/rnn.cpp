// Recurrent networks as PyTorch calls them: layers and directions of rnn_steps, each after one product for the inputs of all steps.
#include "pyburn/ops/generated/rnn.h"

#include "pyburn/ops/generated/copy.h"
#include "pyburn/ops/generated/matmul.h"
#include "pyburn/ops/generated/movement.h"
#include "pyburn/ops/generated/rnn_steps.h"
#include "pyburn/ops/random.h"
#include "pyburn/ops/rnn_steps.h"
#include "pyburn/ops/rules.h"
#include "pyburn/support/checked.h"

namespace pyburn {
namespace {

constexpr const char* kSimple = R"(
t(3, 2, 4), t(1, 2, 3), [t(3, 4), t(3, 3), t(3), t(3)], True, 1, 0.0, False, False, False
t(2, 3, 4), t(1, 2, 3), [t(3, 4), t(3, 3)], False, 1, 0.0, False, False, True
t(3, 1, 2), t(2, 1, 2), [t(2, 2), t(2, 2), t(2), t(2), t(2, 2), t(2, 2), t(2), t(2)], True, 1, 0.0, True, True, False
t(3, 1, 2), t(2, 1, 2), [t(2, 2), t(2, 2), t(2), t(2), t(2, 2), t(2, 2), t(2), t(2)], True, 2, 1.0, True, False, False
t(3, 0, 4), t(1, 0, 3), [t(3, 4), t(3, 3), t(3), t(3)], True, 1, 0.0, False, False, False
t(2, 3, 4).transpose(0, 1), t(1, 2, 3), [t(3, 4), t(3, 3), t(3), t(3)], True, 1, 0.0, False, False, False
t(3, 1, 4).expand(3, 2, 4), t(1, 2, 3), [t(3, 4), t(3, 3), t(3), t(3)], True, 1, 0.0, False, False, False
t(), t(1, 2, 3), [t(3, 4), t(3, 3), t(3), t(3)], True, 1, 0.0, False, False, False ! dimensions
t(3, 2, 4), t(1, 2, 3), [t(3, 4), t(3, 3)], True, 1, 0.0, False, False, False ! params
t(3, 2, 4), t(2, 2, 3), [t(3, 4), t(3, 3), t(3), t(3)], True, 1, 0.0, False, False, False ! state)";
constexpr const char* kGru = R"(
t(3, 2, 4), t(1, 2, 3), [t(9, 4), t(9, 3), t(9), t(9)], True, 1, 0.0, False, False, False
t(2, 3, 2), t(1, 2, 2), [t(6, 2), t(6, 2)], False, 1, 0.0, False, False, True
t(3, 1, 2), t(2, 1, 2), [t(6, 2), t(6, 2), t(6), t(6), t(6, 2), t(6, 2), t(6), t(6)], True, 1, 0.0, True, True, False
t(3, 1, 2), t(2, 1, 2), [t(6, 2), t(6, 2), t(6), t(6), t(6, 2), t(6, 2), t(6), t(6)], True, 2, 1.0, True, False, False
t(3, 0, 4), t(1, 0, 3), [t(9, 4), t(9, 3), t(9), t(9)], True, 1, 0.0, False, False, False
t(2, 3, 4).transpose(0, 1), t(1, 2, 3), [t(9, 4), t(9, 3), t(9), t(9)], True, 1, 0.0, False, False, False
t(3, 1, 4).expand(3, 2, 4), t(1, 2, 3), [t(9, 4), t(9, 3), t(9), t(9)], True, 1, 0.0, False, False, False
t(3, 2, 4, dtype=f64), t(1, 2, 3, dtype=f64), [t(9, 4, dtype=f64), t(9, 3, dtype=f64)], False, 1, 0.0, False, False, False
t(), t(1, 2, 3), [t(9, 4), t(9, 3), t(9), t(9)], True, 1, 0.0, False, False, False ! dimensions
t(3, 2, 4), t(1, 2, 3), [t(9, 4), t(9, 3)], True, 1, 0.0, False, False, False ! params)";
constexpr const char* kCell = R"(
t(2, 4), t(2, 3), t(3, 4), t(3, 3)
t(2, 4), t(2, 3), t(3, 4), t(3, 3), t(3), t(3)
t(0, 4), t(0, 3), t(3, 4), t(3, 3), b_ih=t(3), b_hh=t(3)
t(4, 2).T, t(2, 3), t(3, 4), t(3, 3), t(3), t(3)
t(1, 4).expand(2, 4), t(2, 3), t(3, 4), t(3, 3), t(3), t(3)
t(), t(2, 3), t(3, 4), t(3, 3), t(3), t(3) ! dimensions)";

constinit FunctionInfo functions[] = {
    {.schema = "lstm(Tensor input, Tensor[] hx, Tensor[] params, bool has_biases, int num_layers, float dropout, bool train, bool "
               "bidirectional, bool batch_first) -> (Tensor output, Tensor hn, Tensor cn)",
        .doc = "Applies a multi-layer long short-term memory to input (T, N, I) or, with batch_first, (N, T, I); hx holds the initial "
               "states (h_0, c_0).",
        .example = "pyburn.lstm(pyburn.ones(5, 1, 3), [pyburn.zeros(1, 1, 2)] * 2, [pyburn.ones(8, 3), pyburn.ones(8, 2)], False, 1, 0.0, "
                   "False, False, False)[0].shape",
        .samples = R"(
t(3, 2, 4), [t(1, 2, 3), t(1, 2, 3)], [t(12, 4), t(12, 3), t(12), t(12)], True, 1, 0.0, False, False, False
t(2, 3, 2), [t(1, 2, 2), t(1, 2, 2)], [t(8, 2), t(8, 2)], False, 1, 0.0, False, False, True
t(3, 1, 2), [t(2, 1, 2), t(2, 1, 2)], [t(8, 2), t(8, 2), t(8), t(8), t(8, 2), t(8, 2), t(8), t(8)], True, 1, 0.0, True, True, False
t(3, 1, 2), [t(2, 1, 2), t(2, 1, 2)], [t(8, 2), t(8, 2), t(8), t(8), t(8, 2), t(8, 2), t(8), t(8)], True, 2, 1.0, True, False, False
t(2, 1, 2), [t(1, 1, 1), t(1, 1, 2)], [t(8, 2), t(8, 1), t(8), t(8), t(1, 2)], True, 1, 0.0, False, False, False
t(3, 0, 4), [t(1, 0, 3), t(1, 0, 3)], [t(12, 4), t(12, 3), t(12), t(12)], True, 1, 0.0, False, False, False
t(2, 3, 4).transpose(0, 1), [t(1, 2, 3), t(1, 2, 3)], [t(12, 4), t(12, 3), t(12), t(12)], True, 1, 0.0, False, False, False
t(3, 1, 4).expand(3, 2, 4), [t(1, 2, 3), t(1, 2, 3)], [t(12, 4), t(12, 3), t(12), t(12)], True, 1, 0.0, False, False, False
t(3, 2, 4, dtype=f64), [t(1, 2, 3, dtype=f64), t(1, 2, 3, dtype=f64)], [t(12, 4, dtype=f64), t(12, 3, dtype=f64)], False, 1, 0.0, False, False, False
t(), [t(1, 2, 3), t(1, 2, 3)], [t(12, 4), t(12, 3), t(12), t(12)], True, 1, 0.0, False, False, False ! dimensions
t(3, 2, 4), [t(1, 2, 3)], [t(12, 4), t(12, 3), t(12), t(12)], True, 1, 0.0, False, False, False ! hx
t(3, 2, 4), [t(1, 2, 3), t(1, 2, 3)], [t(12, 4), t(12, 3)], True, 1, 0.0, False, False, False ! params)"},
    {.schema = "gru(Tensor input, Tensor hx, Tensor[] params, bool has_biases, int num_layers, float dropout, bool train, bool "
               "bidirectional, bool batch_first) -> (Tensor output, Tensor hn)",
        .doc = "Applies a multi-layer gated recurrent unit to input (T, N, I) or, with batch_first, (N, T, I).",
        .example = "pyburn.gru(pyburn.ones(5, 1, 3), pyburn.zeros(1, 1, 2), [pyburn.ones(6, 3), pyburn.ones(6, 2)], False, 1, 0.0, False, "
                   "False, False)[0].shape",
        .samples = kGru},
    {.schema = "rnn_tanh(Tensor input, Tensor hx, Tensor[] params, bool has_biases, int num_layers, float dropout, bool train, bool "
               "bidirectional, bool batch_first) -> (Tensor output, Tensor hn)",
        .doc = "Applies a multi-layer Elman network with tanh to input (T, N, I) or, with batch_first, (N, T, I).",
        .example = "pyburn.rnn_tanh(pyburn.ones(5, 1, 3), pyburn.zeros(1, 1, 2), [pyburn.ones(2, 3), pyburn.ones(2, 2)], False, 1, 0.0, "
                   "False, False, False)[0].shape",
        .samples = kSimple},
    {.schema = "rnn_relu(Tensor input, Tensor hx, Tensor[] params, bool has_biases, int num_layers, float dropout, bool train, bool "
               "bidirectional, bool batch_first) -> (Tensor output, Tensor hn)",
        .doc = "Applies a multi-layer Elman network with ReLU to input (T, N, I) or, with batch_first, (N, T, I).",
        .example = "pyburn.rnn_relu(pyburn.ones(5, 1, 3), pyburn.zeros(1, 1, 2), [pyburn.ones(2, 3), pyburn.ones(2, 2)], False, 1, 0.0, "
                   "False, False, False)[0].shape",
        .samples = kSimple},
    {.schema =
            "lstm_cell(Tensor input, Tensor[] hx, Tensor w_ih, Tensor w_hh, Tensor? b_ih=None, Tensor? b_hh=None) -> (Tensor h, Tensor c)",
        .doc = "Computes one step of an LSTM for input (N, I) and hx, a tuple (h, c) of shape (N, H) each.",
        .example = "pyburn.lstm_cell(pyburn.ones(1, 3), [pyburn.zeros(1, 2)] * 2, pyburn.ones(8, 3), pyburn.ones(8, 2))[0].shape",
        .samples = R"(
t(2, 4), [t(2, 3), t(2, 3)], t(12, 4), t(12, 3)
t(2, 4), (t(2, 3), t(2, 3)), t(12, 4), t(12, 3), t(12), t(12)
t(0, 4), [t(0, 3), t(0, 3)], t(12, 4), t(12, 3), b_ih=t(12), b_hh=t(12)
t(4, 2).T, [t(2, 3), t(2, 3)], t(12, 4), t(12, 3), t(12), t(12)
t(1, 4).expand(2, 4), [t(2, 3), t(2, 3)], t(12, 4), t(12, 3), t(12), t(12)
t(), [t(2, 3), t(2, 3)], t(12, 4), t(12, 3), t(12), t(12) ! dimensions
t(2, 4), [t(2, 3)], t(12, 4), t(12, 3), t(12), t(12) ! hx)"},
    {.schema = "gru_cell(Tensor input, Tensor hx, Tensor w_ih, Tensor w_hh, Tensor? b_ih=None, Tensor? b_hh=None) -> Tensor",
        .doc = "Computes one step of a GRU for input (N, I) and state hx (N, H).",
        .example = "pyburn.gru_cell(pyburn.ones(1, 3), pyburn.zeros(1, 2), pyburn.ones(6, 3), pyburn.ones(6, 2)).shape",
        .samples = R"(
t(2, 4), t(2, 3), t(9, 4), t(9, 3)
t(2, 4), t(2, 3), t(9, 4), t(9, 3), t(9), t(9)
t(0, 4), t(0, 3), t(9, 4), t(9, 3), b_ih=t(9), b_hh=t(9)
t(4, 2).T, t(2, 3), t(9, 4), t(9, 3), t(9), t(9)
t(1, 4).expand(2, 4), t(2, 3), t(9, 4), t(9, 3), t(9), t(9)
t(), t(2, 3), t(9, 4), t(9, 3), t(9), t(9) ! dimensions)"},
    {.schema = "rnn_tanh_cell(Tensor input, Tensor hx, Tensor w_ih, Tensor w_hh, Tensor? b_ih=None, Tensor? b_hh=None) -> Tensor",
        .doc = "Computes one step of an Elman network with tanh for input (N, I) and state hx (N, H).",
        .example = "pyburn.rnn_tanh_cell(pyburn.ones(1, 3), pyburn.zeros(1, 2), pyburn.ones(2, 3), pyburn.ones(2, 2)).shape",
        .samples = kCell},
    {.schema = "rnn_relu_cell(Tensor input, Tensor hx, Tensor w_ih, Tensor w_hh, Tensor? b_ih=None, Tensor? b_hh=None) -> Tensor",
        .doc = "Computes one step of an Elman network with ReLU for input (N, I) and state hx (N, H).",
        .example = "pyburn.rnn_relu_cell(pyburn.ones(1, 3), pyburn.zeros(1, 2), pyburn.ones(2, 3), pyburn.ones(2, 2)).shape",
        .samples = kCell},
};

// The weights of one layer and direction; what is absent is undefined.
struct Weights {
  TensorHandle w_ih, w_hh, b_ih, b_hh, w_hr;
};

// States and cells of all steps. Both biases go into the one product, but for gru, whose new gate scales the recurrent one.
Tensors run_steps(const RnnSteps& a, const TensorHandle& x, const Weights& w, const TensorHandle& h0, const TensorHandle& c0) {
  const bool apart = a.cell == "gru";
  const TensorHandle bias = w.b_ih.defined() && w.b_hh.defined() && !apart ? TensorHandle(w.b_ih + w.b_hh) : w.b_ih;
  const TensorHandle projected = linear(x, w.w_ih, bias);
  const TensorHandle recurrent = apart ? w.b_hh : TensorHandle();
  if (w.w_hr.defined()) return forward_in_time(a, projected, w.w_hh, recurrent, h0, c0, w.w_hr);
  const auto [output, cells, gates] = rnn_steps(projected, w.w_hh, recurrent, h0, c0, a.cell, a.reverse);
  return {output, cells};
}

struct Recurrent {
  TensorHandle output, hn, cn;
};
Recurrent recurrent(const char* cell, const TensorHandle& input, const TensorHandle& h0, const TensorHandle& c0, const Tensors& params,
    bool has_biases, int64_t layers, double dropout, bool train, bool bidirectional, bool batch_first) {
  require(input.rank() == 3, "expected an input of 3 dimensions: got {}", input.shape());
  const int64_t directions = bidirectional ? 2 : 1, runs = Checked(layers) * directions;
  const int64_t each = has_biases ? 4 : 2, given = runs > 0 ? params.size() / runs : 0;
  const bool projects = c0.defined() && given == each + 1;
  require<ValueError>(runs > 0 && params.size() == Checked(runs) * (each + projects),
      "expected {} params for each of {} layers and directions: got {}", each, runs, params.size());
  for (const TensorHandle* s : {&h0, &c0})
    if (s->defined())
      require(s->rank() == 3 && s->shape()[0] == runs, "expected one state for each of {} layers and directions: got {}", runs, s->shape());
  TensorHandle x = batch_first ? transpose(input, 0, 1) : TensorHandle(input);
  const int64_t steps = x.shape()[0];
  Tensors states, cells;
  for (int64_t layer = 0; layer < layers; ++layer) {
    Tensors outputs;
    for (int64_t direction = 0; direction < directions; ++direction) {
      const int64_t k = layer * directions + direction, last = direction ? 0 : steps - 1;
      const TensorHandle* p = params.data() + k * (each + projects);
      const Weights w{
          p[0], p[1], has_biases ? p[2] : TensorHandle(), has_biases ? p[3] : TensorHandle(), projects ? p[each] : TensorHandle()};
      const Tensors y =
          run_steps({cell, direction == 1}, x, w, select(h0, 0, k), c0.defined() ? TensorHandle(select(c0, 0, k)) : TensorHandle());
      outputs.push_back(y[0]);
      states.push_back(slice(y[0], 0, last, last + 1));
      if (c0.defined()) cells.push_back(slice(y[1], 0, last, last + 1));
    }
    x = directions == 1 ? TensorHandle(outputs[0]) : joined(outputs, 2);
    if (train && dropout > 0 && layer + 1 < layers) {
      const TensorHandle kept = draw(x.shape(), Draw::bernoulli, 1 - dropout, 0, x.dtype(), &x.device(), nullptr);
      x = dropout == 1 ? x * kept : x * kept / (1 - dropout);
    }
  }
  return {
      batch_first ? TensorHandle(independent(transpose(x, 0, 1))) : x, joined(states, 0), c0.defined() ? joined(cells, 0) : TensorHandle()};
}

// One step: a sequence of length 1.
Tensors one_step(const char* cell, const TensorHandle& input, const TensorHandle& h, const TensorHandle& c, const Weights& w) {
  require(input.rank() == 2, "expected an input of 2 dimensions: got {}", input.shape());
  const Tensors y = run_steps({cell}, unsqueeze(input, 0), w, h, c);
  return {independent(remove_axis(y[0], 0)), c.defined() ? TensorHandle(independent(remove_axis(y[1], 0))) : TensorHandle()};
}
void check_pair(const Tensors& hx) { require<ValueError>(hx.size() == 2, "expected a state and a cell in hx: got {} tensors", hx.size()); }

}  // namespace

Handles<3> fn::lstm(const TensorHandle& input, const Tensors& hx, const Tensors& params, bool has_biases, int64_t num_layers,
    double dropout, bool train, bool bidirectional, bool batch_first) {
  check_pair(hx);
  const Recurrent r = recurrent("lstm", input, hx[0], hx[1], params, has_biases, num_layers, dropout, train, bidirectional, batch_first);
  return {r.output, r.hn, r.cn};
}
Handles<2> fn::gru(const TensorHandle& input, const TensorHandle& hx, const Tensors& params, bool has_biases, int64_t num_layers,
    double dropout, bool train, bool bidirectional, bool batch_first) {
  const Recurrent r = recurrent("gru", input, hx, {}, params, has_biases, num_layers, dropout, train, bidirectional, batch_first);
  return {r.output, r.hn};
}
Handles<2> fn::rnn_tanh(const TensorHandle& input, const TensorHandle& hx, const Tensors& params, bool has_biases, int64_t num_layers,
    double dropout, bool train, bool bidirectional, bool batch_first) {
  const Recurrent r = recurrent("tanh", input, hx, {}, params, has_biases, num_layers, dropout, train, bidirectional, batch_first);
  return {r.output, r.hn};
}
Handles<2> fn::rnn_relu(const TensorHandle& input, const TensorHandle& hx, const Tensors& params, bool has_biases, int64_t num_layers,
    double dropout, bool train, bool bidirectional, bool batch_first) {
  const Recurrent r = recurrent("relu", input, hx, {}, params, has_biases, num_layers, dropout, train, bidirectional, batch_first);
  return {r.output, r.hn};
}

Handles<2> fn::lstm_cell(const TensorHandle& input, const Tensors& hx, const TensorHandle& w_ih, const TensorHandle& w_hh,
    const TensorHandle& b_ih, const TensorHandle& b_hh) {
  check_pair(hx);
  const Tensors y = one_step("lstm", input, hx[0], hx[1], {w_ih, w_hh, b_ih, b_hh, {}});
  return {y[0], y[1]};
}
TensorHandle fn::gru_cell(const TensorHandle& input, const TensorHandle& hx, const TensorHandle& w_ih, const TensorHandle& w_hh,
    const TensorHandle& b_ih, const TensorHandle& b_hh) {
  return one_step("gru", input, hx, {}, {w_ih, w_hh, b_ih, b_hh, {}})[0];
}
TensorHandle fn::rnn_tanh_cell(const TensorHandle& input, const TensorHandle& hx, const TensorHandle& w_ih, const TensorHandle& w_hh,
    const TensorHandle& b_ih, const TensorHandle& b_hh) {
  return one_step("tanh", input, hx, {}, {w_ih, w_hh, b_ih, b_hh, {}})[0];
}
TensorHandle fn::rnn_relu_cell(const TensorHandle& input, const TensorHandle& hx, const TensorHandle& w_ih, const TensorHandle& w_hh,
    const TensorHandle& b_ih, const TensorHandle& b_hh) {
  return one_step("relu", input, hx, {}, {w_ih, w_hh, b_ih, b_hh, {}})[0];
}

void register_rnn(OpTable& table) { table.add(functions); }

}  // namespace pyburn
