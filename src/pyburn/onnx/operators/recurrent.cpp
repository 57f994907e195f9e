// Recurrent layers: RNN, GRU, LSTM. The common forms are one operation over all steps; others run step by step.
#include <cctype>

#include "pyburn/onnx/call.h"
#include "pyburn/ops/generated/activation.h"
#include "pyburn/ops/generated/binary.h"
#include "pyburn/ops/generated/copy.h"
#include "pyburn/ops/generated/fill.h"
#include "pyburn/ops/generated/index.h"
#include "pyburn/ops/generated/join.h"
#include "pyburn/ops/generated/matmul.h"
#include "pyburn/ops/generated/movement.h"
#include "pyburn/ops/generated/pointwise.h"
#include "pyburn/ops/generated/rnn_steps.h"
#include "pyburn/ops/generated/transcendental.h"
#include "pyburn/ops/operators.h"
#include "pyburn/support/checked.h"
#include "pyburn/support/error.h"

namespace pyburn::onnx {
namespace {

struct Activation {
  std::string name;  // in small letters: files differ
  double alpha, beta;
  TensorHandle operator()(const TensorHandle& x) const {
    if (name == "sigmoid") return fn::sigmoid(x);
    if (name == "tanh") return fn::tanh(x);
    if (name == "relu") return fn::relu(x);
    if (name == "affine") return x * alpha + beta;
    if (name == "leakyrelu") return fn::leaky_relu(x, alpha);
    if (name == "thresholdedrelu") return fn::threshold(x, alpha, 0.0);
    if (name == "scaledtanh") return fn::tanh(x * beta) * alpha;
    if (name == "hardsigmoid") return fn::clamp(x * alpha + beta, 0.0, 1.0);
    if (name == "elu") return fn::elu(x, alpha);
    if (name == "softsign") return fn::softsign(x);
    return fn::softplus(x);
  }
};

// Every cell in one interface: weights in ONNX's order of gates.
enum class Cell { rnn, gru, lstm };
constexpr int gates_of(Cell cell) { return cell == Cell::rnn ? 1 : cell == Cell::gru ? 3 : 4; }
constexpr int activations_of(Cell cell) { return cell == Cell::rnn ? 1 : cell == Cell::gru ? 2 : 3; }

// Reads `activations` with their numbers, which are consumed in order by those that have some.
class ActivationReader {
 public:
  ActivationReader(Call& c, Cell cell, int directions) : alphas_(c.reals("activation_alpha")), betas_(c.reals("activation_beta")) {
    std::vector<std::string> names = c.texts("activations");
    const int each = activations_of(cell);
    if (names.empty())
      for (int d = 0; d < directions; ++d)
        for (int i = 0; i < each; ++i) names.push_back(cell != Cell::rnn && i == 0 ? "sigmoid" : "tanh");
    require<FormatError>(
        int(names.size()) == each * directions, "[onnx] expected {} activations: got {}", each * directions, int64_t(names.size()));
    for (std::string& name : names) {
      for (char& letter : name) letter = char(std::tolower(static_cast<unsigned char>(letter)));
      read_.push_back(activation(name));
    }
  }
  std::span<const Activation> of(Cell cell, int direction) const {
    const auto each = size_t(activations_of(cell));
    return std::span(read_).subspan(size_t(direction) * each, each);
  }

 private:
  Activation activation(const std::string& name) {
    struct Known {
      const char* name;
      bool has_alpha, has_beta;
      double alpha, beta;
    };
    static constexpr Known known[] = {{"sigmoid", false, false, 0, 0}, {"tanh", false, false, 0, 0}, {"relu", false, false, 0, 0},
        {"affine", true, true, 1, 0}, {"leakyrelu", true, false, 0.01, 0}, {"thresholdedrelu", true, false, 1, 0},
        {"scaledtanh", true, true, 1, 1}, {"hardsigmoid", true, true, 0.2, 0.5}, {"elu", true, false, 1, 0},
        {"softsign", false, false, 0, 0}, {"softplus", false, false, 0, 0}};
    for (const Known& k : known)
      if (k.name == name) {
        const auto next = [](const std::vector<double>& list, size_t& at, bool has, double otherwise) {
          return has && at < list.size() ? list[at++] : otherwise;
        };
        const double alpha = next(alphas_, alpha_at_, k.has_alpha, k.alpha), beta = next(betas_, beta_at_, k.has_beta, k.beta);
        return {name, alpha, beta};
      }
    fail<FormatError>("[onnx] no such activation of a recurrent layer: got '{}'", name);
  }
  std::vector<double> alphas_, betas_;
  size_t alpha_at_ = 0, beta_at_ = 0;
  std::vector<Activation> read_;
};

// One direction of a layer.
struct Direction {
  Cell cell;
  bool reverse, linear_before_reset, input_forget;
  std::optional<double> clip;
  std::span<const Activation> activations;
  TensorHandle x;                           // (T, B, I)
  TensorHandle weight, recurrence;          // (G H, I), (G H, H)
  TensorHandle bias, recurrent_bias;        // (G H), or undefined
  TensorHandle h0, c0, peepholes, lengths;  // (B, H), (B, H), (3 H), (B)
};
struct States {
  TensorHandle y, h, c;  // (T, B, H), (B, H), (B, H)
};

// Gates in PyTorch's order: parts of a tensor whose first axis holds those of ONNX.
TensorHandle reordered(const TensorHandle& t, Cell cell) {
  if (!t.defined() || cell == Cell::rnn) return t;
  const int64_t hidden = t.shape()[0] / gates_of(cell);
  const auto gate = [&](int64_t i) { return fn::slice(t, 0, i * hidden, (i + 1) * hidden); };
  if (cell == Cell::gru) return fn::cat({gate(1), gate(0), gate(2)});  // update, reset, new -> reset, update, new
  return fn::cat({gate(0), gate(2), gate(3), gate(1)});                // input, output, forget, cell -> input, forget, cell, output
}

bool is_common(const Direction& d) {
  if (d.clip || d.lengths.defined() || d.peepholes.defined() || d.input_forget) return false;
  const auto a = d.activations;
  if (d.cell == Cell::rnn) return a[0].name == "tanh" || a[0].name == "relu";
  if (d.cell == Cell::gru && !d.linear_before_reset) return false;
  return a[0].name == "sigmoid" && a[1].name == "tanh" && (d.cell == Cell::gru || a[2].name == "tanh");
}

States run_at_once(const Direction& d) {
  const char* name = d.cell == Cell::lstm ? "lstm" : d.cell == Cell::gru ? "gru" : d.activations[0].name == "relu" ? "relu" : "tanh";
  TensorHandle bias = d.bias, apart;
  if (bias.defined()) {
    if (d.cell == Cell::gru) apart = reordered(d.recurrent_bias, d.cell);  // the reset gate scales it
    else bias = bias + d.recurrent_bias;
  }
  const TensorHandle projected = fn::linear(d.x, reordered(d.weight, d.cell), reordered(bias, d.cell));
  const auto [y, cells, gates] = fn::rnn_steps(projected, reordered(d.recurrence, d.cell), apart, d.h0, d.c0, name, d.reverse);
  const int64_t last = d.reverse ? 0 : d.x.shape()[0] - 1;
  if (d.x.shape()[0] == 0) return {y, d.h0, d.c0};
  return {y, fn::select(y, 0, last), d.cell == Cell::lstm ? fn::select(cells, 0, last) : TensorHandle()};
}

// One step from the projected input of this step, (B, G H), and the states before.
class Step {
 public:
  explicit Step(const Direction& d) : d_(d), hidden_(d.recurrence.shape()[1]), back_(fn::transpose(d.recurrence, 0, 1)) {}

  void operator()(const TensorHandle& projected, TensorHandle& h, TensorHandle& c) const {
    if (d_.cell == Cell::rnn) h = d_.activations[0](clipped(with_bias(projected + fn::matmul(h, back_))));
    else if (d_.cell == Cell::gru) h = gru(projected, h);
    else lstm(with_bias(projected + fn::matmul(h, back_)), h, c);
  }

 private:
  TensorHandle with_bias(const TensorHandle& t) const { return d_.recurrent_bias.defined() ? t + d_.recurrent_bias : t; }
  TensorHandle clipped(const TensorHandle& t) const { return d_.clip ? fn::clamp(t, -*d_.clip, *d_.clip) : t; }
  TensorHandle gate(const TensorHandle& t, int64_t i, int64_t count = 1) const {
    return fn::slice(t, -1, i * hidden_, (i + count) * hidden_);
  }
  TensorHandle gru(const TensorHandle& projected, const TensorHandle& h) const {
    const Activation &f = d_.activations[0], &g = d_.activations[1];
    const TensorHandle zr = gate(projected, 0, 2) + fn::matmul(h, fn::slice(back_, 1, 0, 2 * hidden_));
    const TensorHandle gates = f(clipped(d_.recurrent_bias.defined() ? zr + fn::slice(d_.recurrent_bias, 0, 0, 2 * hidden_) : zr));
    const TensorHandle z = gate(gates, 0), r = gate(gates, 1), back = fn::slice(back_, 1, 2 * hidden_);
    const auto biased = [&](const TensorHandle& t) { return d_.recurrent_bias.defined() ? t + gate(d_.recurrent_bias, 2) : t; };
    const TensorHandle recurrent = d_.linear_before_reset ? r * biased(fn::matmul(h, back)) : biased(fn::matmul(r * h, back));
    const TensorHandle fresh = g(clipped(gate(projected, 2) + recurrent));
    return (1.0 - z) * fresh + z * h;
  }
  void lstm(const TensorHandle& sums, TensorHandle& h, TensorHandle& c) const {
    const auto &f = d_.activations[0], &g = d_.activations[1], &out = d_.activations[2];
    const auto peeped = [&](int64_t i, int64_t hole, const TensorHandle& cell) {
      const TensorHandle t = gate(sums, i);
      return clipped(d_.peepholes.defined() ? t + gate(d_.peepholes, hole) * cell : t);
    };
    const TensorHandle input = f(peeped(0, 0, c)), forget = d_.input_forget ? TensorHandle(1.0 - input) : f(peeped(2, 2, c));
    c = forget * c + input * g(clipped(gate(sums, 3)));
    h = f(peeped(1, 1, c)) * out(c);
  }

  const Direction& d_;
  int64_t hidden_;
  TensorHandle back_;
};

// Lines that have ended keep their states and give zeros.
States run_by_steps(const Direction& d) {
  const int64_t steps = d.x.shape()[0];
  const TensorHandle projected = fn::linear(d.x, d.weight, d.bias);
  const Step step(d);
  TensorHandle h = d.h0, c = d.c0;
  Tensors outputs(steps, TensorHandle());
  for (int64_t k = 0; k < steps; ++k) {
    const int64_t t = d.reverse ? steps - 1 - k : k;
    TensorHandle h1 = h, c1 = c;
    step(fn::select(projected, 0, t), h1, c1);
    if (!d.lengths.defined()) {
      h = outputs[t] = h1, c = c1;
      continue;
    }
    const TensorHandle goes_on = fn::unsqueeze(fn::gt(d.lengths, t), 1);
    outputs[t] = fn::where(goes_on, h1, 0.0);
    h = fn::where(goes_on, h1, h);
    if (c.defined()) c = fn::where(goes_on, c1, c);
  }
  const TensorHandle y = steps ? fn::stack(outputs) : fn::zeros({0, h.shape()[0], h.shape()[1]}, h.dtype(), &h.device());
  return {y, h, c};
}

template <Cell cell>
Results layer(Call& c, const TensorHandle& weight, const TensorHandle& recurrence) {
  const bool batch_first = c.flag("layout");
  TensorHandle x = c.input(0);
  const TensorHandle biases = c.optional_input(3), peepholes = c.optional_input(7);
  require(x.rank() == 3 && weight.rank() == 3 && recurrence.rank() == 3,
      "[onnx] a recurrent layer expects 3 axes of X, W and R: got {}, {} and {}", x.shape(), weight.shape(), recurrence.shape());
  if (batch_first) x = fn::transpose(x, 0, 1);
  const int64_t steps = x.shape()[0], batch = x.shape()[1], hidden = recurrence.shape()[2], rows = Checked(hidden) * gates_of(cell);
  const std::string direction = c.text("direction", "forward");
  require<FormatError>(direction == "forward" || direction == "reverse" || direction == "bidirectional",
      "[onnx] direction must be forward, reverse or bidirectional: got '{}'", direction);
  const int directions = direction == "bidirectional" ? 2 : 1;
  require(weight.shape() == Shape{directions, rows, x.shape()[2]} && recurrence.shape() == Shape{directions, rows, hidden},
      "[onnx] W and R do not fit X {} and {} directions: got {} and {}", x.shape(), directions, weight.shape(), recurrence.shape());
  require(!biases.defined() || biases.shape() == Shape{directions, Checked(rows) * 2}, "[onnx] expected B ({}, {}): got {}", directions,
      2 * rows, biases.defined() ? biases.shape() : Shape());
  const auto initial = [&](int i) {
    if (!c.has_input(i)) return fn::zeros({directions, batch, hidden}, x.dtype(), &x.device());
    return batch_first ? fn::transpose(c.input(i), 0, 1) : c.input(i);
  };
  const TensorHandle h0 = initial(5), c0 = cell == Cell::lstm ? initial(6) : TensorHandle();
  const TensorHandle lengths = c.optional_input(4);
  const ActivationReader activations(c, cell, directions);
  const bool linear_before_reset = cell == Cell::gru && c.flag("linear_before_reset");
  const bool input_forget = cell == Cell::lstm && c.flag("input_forget");
  const std::optional<double> clip = c.has("clip") ? std::optional(c.real("clip")) : std::nullopt;
  Tensors outputs, last_h, last_c;
  for (int i = 0; i < directions; ++i) {
    const auto part = [&](const TensorHandle& t) { return t.defined() ? fn::select(t, 0, i) : TensorHandle(); };
    const auto half = [&](int64_t from, int64_t to) { return biases.defined() ? fn::slice(part(biases), 0, from, to) : TensorHandle(); };
    const Direction d{.cell = cell,
        .reverse = direction == "reverse" || i == 1,
        .linear_before_reset = linear_before_reset,
        .input_forget = input_forget,
        .clip = clip,
        .activations = activations.of(cell, i),
        .x = x,
        .weight = part(weight),
        .recurrence = part(recurrence),
        .bias = half(0, rows),
        .recurrent_bias = half(rows, 2 * rows),
        .h0 = part(h0),
        .c0 = part(c0),
        .peepholes = cell == Cell::lstm ? part(peepholes) : TensorHandle(),
        .lengths = lengths};
    const States s = is_common(d) && steps > 0 ? run_at_once(d) : run_by_steps(d);
    outputs.push_back(s.y), last_h.push_back(s.h);
    if (s.c.defined()) last_c.push_back(s.c);
  }
  TensorHandle y = fn::stack(outputs, 1);  // (T, D, B, H)
  if (batch_first) y = fn::permute(y, {2, 0, 1, 3});
  const auto last = [&](const Tensors& states) {
    const TensorHandle s = fn::stack(states);
    return batch_first ? fn::transpose(s, 0, 1) : s;
  };
  Results results{y, last(last_h)};
  if (cell == Cell::lstm) results.push_back(last(last_c));
  return results;
}

template <Cell cell>
Results layer(Call& c) {
  return layer<cell>(c, c.input(1), c.input(2));
}

// com.microsoft: weights (D, I, 4 H) of 8 bits with a scale and a zero point for each direction, or each column. They are computed with as
// numbers; rounding x and h to 8 bits, too, would save nothing here.
Results dynamic_quantize_lstm(Call& c) {
  const auto weights = [&](int i, int scale_at) {
    const TensorHandle scale = c.input(scale_at), w = c.input(i);
    require(w.rank() == 3 && (scale.rank() == 1 || scale.rank() == 2),
        "[onnx] quantised weights expect 3 axes and scales 1 or 2: got {} and {}", w.shape(), scale.shape());
    const auto spread = [&](const TensorHandle& t) {
      const TensorHandle rows = fn::cast(t, scale.dtype());
      return rows.rank() == 1 ? fn::reshape(rows, {-1, 1, 1}) : fn::unsqueeze(rows, 1);
    };
    return fn::transpose((fn::cast(w, scale.dtype()) - spread(c.input(scale_at + 1))) * spread(scale), 1, 2);
  };
  return layer<Cell::lstm>(c, weights(1, 8), weights(2, 10));
}

constexpr Operator kRows[] = {
    {"com.microsoft", "DynamicQuantizeLSTM", 1, dynamic_quantize_lstm},
    {"", "RNN", 7, layer<Cell::rnn>},
    {"", "GRU", 7, layer<Cell::gru>},
    {"", "LSTM", 7, layer<Cell::lstm>},
};

}  // namespace

std::span<const Operator> recurrent_operators() { return kRows; }

}  // namespace pyburn::onnx
