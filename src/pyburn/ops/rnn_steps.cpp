// The steps of a recurrent layer and their gradient: two rows with kernels, and the same in public operations, for other backends and
// for gradients of gradients.
#include "pyburn/ops/rnn_steps.h"

#include <algorithm>

#include "pyburn/ops/generated/activation.h"
#include "pyburn/ops/generated/binary.h"
#include "pyburn/ops/generated/copy.h"
#include "pyburn/ops/generated/fill.h"
#include "pyburn/ops/generated/index.h"
#include "pyburn/ops/generated/matmul.h"
#include "pyburn/ops/generated/movement.h"
#include "pyburn/ops/generated/reduce.h"
#include "pyburn/ops/generated/rnn_steps.h"
#include "pyburn/ops/generated/transcendental.h"
#include "pyburn/ops/rules.h"
#include "pyburn/support/checked.h"

namespace pyburn {
namespace {

void check_steps(const RnnSteps& a, const Meta& projected, const Meta& weight, const Meta& h0, const Meta& c0) {
  require<ValueError>(a.cell == "lstm" || a.cell == "gru" || a.cell == "tanh" || a.cell == "relu",
      "cell must be lstm, gru, tanh or relu: got '{}'", a.cell);
  const Shape &x = projected.shape, &w = weight.shape, &h = h0.shape;
  require(x.rank() == 3 && w.rank() == 2 && h.rank() == 2,
      "expected inputs of 3 dimensions and a weight and a state of 2: got {}, {} and {}", x, w, h);
  require(x[0] > 0, "expected at least one step: got {}", x);
  require(x[2] == a.gates() * w[1] && w[0] == x[2], "the shape of weight does not match: got {} for {}", w, x);
  require(h == Shape{x[1], w[1]}, "the shape of the state does not match: got {} for {} and {}", h, x, w);
  if (a.cell == "lstm") require(c0.shape == h, "the shape of the cell state does not match: got {} for {}", c0.shape, h);
  require<DTypeError>(is_floating(projected.dtype) && weight.dtype == projected.dtype && h0.dtype == projected.dtype,
      "expected one floating dtype: got {}, {} and {}", projected.dtype, weight.dtype, h0.dtype);
}
MetaList infer(const RnnSteps& a, Metas in) {
  check_steps(a, in[0], in[1], in[3], in[4]);
  if (!in[2].shape.empty())
    require(in[2].shape == Shape{in[1].shape[0]}, "the shape of bias does not match: got {} for {}", in[2].shape, in[1].shape);
  const Shape& x = in[0].shape;
  const int64_t n = in[1].shape[1];
  const DType dtype = in[0].dtype;
  const Shape none{0}, all{x[0], x[1], n}, gates{x[0], x[1], 4 * n};
  return {{all, dtype}, {a.cell == "lstm" ? all : none, dtype}, {a.gates() > 1 ? gates : none, dtype}};
}
MetaList infer_grad(const RnnSteps& a, Metas in) {
  const Meta &dy = in[0], &weight = in[2], &h0 = in[3];
  require(dy.shape.rank() == 3 && dy == in[5], "the shape of the gradient does not match: got {} for {}", dy.shape, in[5].shape);
  require(weight.shape.rank() == 2, "expected a weight of 2 dimensions: got {}", weight.shape);
  const Meta projected{Shape{dy.shape[0], dy.shape[1], weight.shape[0]}, dy.dtype};
  check_steps(a, projected, weight, h0, in[4]);
  const bool is_lstm = a.cell == "lstm";
  const Meta none{Shape{0}, dy.dtype}, gates{Shape{dy.shape[0], dy.shape[1], 4 * Checked(weight.shape[1])}, dy.dtype};
  require(in[6] == (is_lstm ? dy : none) && in[7] == (a.gates() > 1 ? gates : none),
      "the shapes of the saved tensors do not match: got {} and {} for {}", in[6].shape, in[7].shape, dy.shape);
  require(in[1].shape.empty() || (is_lstm && in[1] == dy), "the shape of the cell gradient does not match: got {} for {}", in[1].shape,
      dy.shape);
  return {projected, a.cell == "gru" ? projected : none, h0, a.cell == "lstm" ? h0 : none};
}

// Gate k of (..., G * H).
TensorHandle gate(const TensorHandle& gates, int64_t k, int64_t n) { return slice(gates, gates.rank() - 1, k * n, (k + 1) * n); }
TensorHandle at(const TensorHandle& x, int64_t t) { return select(x, 0, t); }
TensorHandle no_elements(const TensorHandle& like) { return zeros(Dims{0}, like.dtype(), &like.device(), false); }

Tensors decompose_steps(const RnnSteps& a, Inputs in) { return forward_in_time(a, *in[0], *in[1], *in[2], *in[3], *in[4]); }
Tensors decompose_grad(const RnnSteps& a, Inputs in) {
  return backward_in_time(a, *in[0], *in[1], TensorHandle(), *in[2], *in[3], *in[4], *in[5], *in[6], *in[7]);
}

Grads grad_steps(const RnnSteps& a, const GradContext& c) {
  const TensorHandle weight = c.input(1), h0 = c.input(3), c0 = c.input(4), gates = c.output(2);
  // One step of the gates is reversed without its result, which the caller may have overwritten: only its size is used.
  const bool is_read = a.gates() == 1 || c.dy().shape()[0] > 1;
  const TensorHandle y = is_read ? c.output(0) : c.dy();
  const TensorHandle d_cells = a.cell == "lstm" && c.has_dy(1) ? c.dy(1) : TensorHandle(),
                     d_gates = a.gates() > 1 && c.has_dy(2) ? c.dy(2) : TensorHandle();
  Tensors d;                                                         // of the projected inputs, of the recurrent part, of both states
  if ((is_read ? y : gates).requires_grad() || d_gates.defined()) {  // the gradient is to be differentiated itself
    d = backward_in_time(a, c.dy(), d_cells, d_gates, weight, h0, c0, y, c.output(1), gates);
  } else {
    for (const TensorHandle& t : rnn_steps_grad(c.dy(), d_cells, weight, h0, c0, y, c.output(1), gates, a.cell, a.reverse)) d.push_back(t);
  }
  const TensorHandle recurrent = a.cell == "gru" ? d[1] : d[0];
  const int64_t steps = y.shape()[0], first = a.reverse ? steps - 1 : 0, rows = recurrent.shape()[2], n = h0.shape()[1];
  TensorHandle d_weight;
  if (c.needs(1)) {  // all steps in one product: each state with the gradient of the next step
    d_weight = matmul(transpose(at(recurrent, first), 0, 1), h0);
    if (steps > 1) {
      const TensorHandle later = a.reverse ? slice(recurrent, 0, 0, steps - 1) : slice(recurrent, 0, 1, steps);
      const TensorHandle before = a.reverse ? slice(y, 0, 1, steps) : slice(y, 0, 0, steps - 1);
      d_weight = d_weight + matmul(transpose(reshape(later, Dims{-1, rows}), 0, 1), reshape(before, Dims{-1, n}));
    }
  }
  return {d[0], d_weight, c.needs(2) ? sum(recurrent, Dims{0, 1}) : TensorHandle(), d[2], c.needs(4) ? d[3] : TensorHandle()};
}

}  // namespace

TensorHandle joined(const Tensors& parts, int64_t dim) {
  Dims size = parts[0].shape();
  size[dim] = 0;
  for (const TensorHandle& p : parts) size[dim] += p.shape()[dim];
  const TensorHandle whole = zeros(size, parts[0].dtype(), &parts[0].device(), false);
  int64_t begin = 0;
  for (const TensorHandle& p : parts) {
    cast_into(slice(whole, dim, begin, begin + p.shape()[dim]), p, p.dtype());
    begin += p.shape()[dim];
  }
  return whole;
}

Tensors forward_in_time(const RnnSteps& a, const TensorHandle& projected, const TensorHandle& weight, const TensorHandle& bias,
    const TensorHandle& h0, const TensorHandle& c0, const TensorHandle& weight_hr) {
  const int64_t steps = projected.shape()[0], n = weight.shape()[0] / a.gates();
  Tensors outputs(steps, {}), cells(steps, {}), gates(steps, {});
  TensorHandle h = h0, c = c0;
  for (int64_t s = 0; s < steps; ++s) {
    const int64_t t = a.reverse ? steps - 1 - s : s;
    const TensorHandle x = at(projected, t), product = matmul(h, transpose(weight, 0, 1));
    const TensorHandle recurrent = bias.defined() ? product + bias : product;
    if (a.cell == "lstm") {
      const TensorHandle sum = x + recurrent;
      const TensorHandle i = sigmoid(gate(sum, 0, n)), f = sigmoid(gate(sum, 1, n)), g = tanh(gate(sum, 2, n)),
                         o = sigmoid(gate(sum, 3, n));
      c = f * c + i * g;
      h = o * tanh(c);
      if (weight_hr.defined()) h = matmul(h, transpose(weight_hr, 0, 1));
      cells[t] = unsqueeze(c, 0);
      gates[t] = unsqueeze(joined({i, f, g, o}, 1), 0);
    } else if (a.cell == "gru") {
      const TensorHandle r = sigmoid(gate(x, 0, n) + gate(recurrent, 0, n)), z = sigmoid(gate(x, 1, n) + gate(recurrent, 1, n));
      const TensorHandle q = gate(recurrent, 2, n), fresh = tanh(gate(x, 2, n) + r * q);
      h = fresh + z * (h - fresh);
      gates[t] = unsqueeze(joined({r, z, fresh, q}, 1), 0);
    } else {
      const TensorHandle sum = x + recurrent;
      h = a.cell == "tanh" ? tanh(sum) : relu(sum);
    }
    outputs[t] = unsqueeze(h, 0);
  }
  return {joined(outputs, 0), a.cell == "lstm" ? joined(cells, 0) : no_elements(projected),
      a.gates() > 1 ? joined(gates, 0) : no_elements(projected)};
}

Tensors backward_in_time(const RnnSteps& a, const TensorHandle& d_output, const TensorHandle& d_cells, const TensorHandle& d_gates,
    const TensorHandle& weight, const TensorHandle& h0, const TensorHandle& c0, const TensorHandle& output, const TensorHandle& cells,
    const TensorHandle& gates) {
  const int64_t steps = output.shape()[0], n = weight.shape()[1];
  Tensors projected(steps, {}), recurrent(steps, {});
  TensorHandle dh = zeros_like(h0), dc = zeros_like(h0);
  for (int64_t s = steps - 1; s >= 0; --s) {
    const int64_t t = a.reverse ? steps - 1 - s : s, before = a.reverse ? t + 1 : t - 1;
    const TensorHandle h_before = s == 0 ? TensorHandle(h0) : at(output, before);
    // Gate k of this step, and what arrives for it from elsewhere.
    auto saved = [&](int64_t k) { return gate(at(gates, t), k, n); };
    auto with_arriving = [&](int64_t k, const TensorHandle& d) { return d_gates.defined() ? d + gate(at(d_gates, t), k, n) : d; };
    auto through_sigmoid = [](const TensorHandle& d, const TensorHandle& y) { return d * y * (1.0 - y); };
    auto through_tanh = [](const TensorHandle& d, const TensorHandle& y) { return d * (1.0 - y * y); };
    dh = dh + at(d_output, t);
    TensorHandle d, d_recurrent;
    if (a.cell == "lstm") {
      const TensorHandle i = saved(0), f = saved(1), g = saved(2), o = saved(3), bent = tanh(at(cells, t));
      const TensorHandle c_before = s == 0 ? TensorHandle(c0) : at(cells, before);
      if (d_cells.defined()) dc = dc + at(d_cells, t);
      dc = dc + through_tanh(dh * o, bent);
      d = joined({through_sigmoid(with_arriving(0, dc * g), i), through_sigmoid(with_arriving(1, dc * c_before), f),
                     through_tanh(with_arriving(2, dc * i), g), through_sigmoid(with_arriving(3, dh * bent), o)},
          1);
      dc = dc * f;
      dh = matmul(d, weight);
    } else if (a.cell == "gru") {
      const TensorHandle r = saved(0), z = saved(1), fresh = saved(2), q = saved(3);
      const TensorHandle d_fresh = through_tanh(with_arriving(2, dh * (1.0 - z)), fresh);
      const TensorHandle d_z = through_sigmoid(with_arriving(1, dh * (h_before - fresh)), z);
      const TensorHandle d_r = through_sigmoid(with_arriving(0, d_fresh * q), r);
      d = joined({d_r, d_z, d_fresh}, 1);
      d_recurrent = joined({d_r, d_z, with_arriving(3, d_fresh * r)}, 1);
      dh = dh * z + matmul(d_recurrent, weight);
      recurrent[t] = unsqueeze(d_recurrent, 0);
    } else {
      const TensorHandle y = at(output, t);
      d = a.cell == "tanh" ? through_tanh(dh, y) : where(gt(y, 0), dh, 0.0);
      dh = matmul(d, weight);
    }
    projected[t] = unsqueeze(d, 0);
  }
  return {
      joined(projected, 0), a.cell == "gru" ? joined(recurrent, 0) : no_elements(output), dh, a.cell == "lstm" ? dc : no_elements(output)};
}

namespace {
int64_t cost(std::span<const Shape* const> in, const Shape&) { return Checked(in[0]->numel()) * (*in[1])[in[1]->rank() - 1]; }
int64_t cost_grad(std::span<const Shape* const> in, const Shape& out) { return Checked(out.numel()) * (*in[2])[in[2]->rank() - 1]; }
}  // namespace

namespace op {
constinit OpInfo rnn_steps = define<RnnSteps, infer, grad_steps, decompose_steps>(
    {.schema = "rnn_steps(Tensor projected, Tensor weight, Tensor? bias, Tensor h0, Tensor? c0, str cell, bool reverse) -> (Tensor output, "
               "Tensor cells, Tensor gates)",
        .doc = "Computes the states of a recurrent layer at all time steps from the projected inputs.",
        .autocast = Autocast::lower,
        .saves = inputs | outputs,
        .multiply_adds = cost,
        .example = "pyburn.rnn_steps(pyburn.ones(3, 1, 2), pyburn.ones(2, 2), None, pyburn.zeros(1, 2), None, 'tanh', False)[0].shape"});
constinit OpInfo rnn_steps_grad = define<RnnSteps, infer_grad, nullptr, decompose_grad>(
    {.schema = "rnn_steps_grad(Tensor grad_output, Tensor? grad_cells, Tensor weight, Tensor h0, Tensor? c0, Tensor output, Tensor cells, "
               "Tensor gates, str cell, bool reverse) -> (Tensor grad_projected, Tensor grad_recurrent, Tensor grad_h0, Tensor grad_c0)",
        .doc = "Computes the gradient of rnn_steps (backpropagation through time).",
        .multiply_adds = cost_grad,
        .no_grad = "gradients of gradients do not pass here: rnn_steps then writes its gradient in public operations",
        .example = "pyburn.rnn_steps_grad(pyburn.ones(3, 1, 2), None, pyburn.ones(2, 2), pyburn.zeros(1, 2), None, pyburn.ones(3, 1, 2), "
                   "pyburn.zeros(0), pyburn.zeros(0), 'relu', False)[0].shape"});
}  // namespace op

void register_rnn_steps(OpTable& table) { table.add({&op::rnn_steps, &op::rnn_steps_grad}); }

}  // namespace pyburn
