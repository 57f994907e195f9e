// The steps of a recurrent layer: a dispatch per step forward, in which a thread has one unit of a few rows; backward a dispatch for the
// cells and a product with the weights.
#include "pyburn/ops/rnn_steps.h"

#include "pyburn/backends/wgpu/product.h"
#include "pyburn/support/checked.h"
#include "pyburn/support/format.h"

namespace pyburn::wgpu {
namespace {

constexpr int64_t kRows = 4;  // rows of the batch that one read of a weight serves

TensorHandle step_of(const TensorHandle& x, int64_t t) {
  Shape shape = x.shape();
  Dims strides = x.strides();
  const int64_t offset = x.layout().offset + t * strides[0];
  shape.erase(0);
  strides.erase(0);
  return relayout(x, shape, strides, offset);
}
// The weight with units of one gate next to each other, for neighbouring threads.
TensorHandle transposed(const Call& c, const TensorHandle& w) {
  const TensorHandle result = scratch(c, w.dtype(), Shape{w.shape()[1], w.shape()[0]});
  copy(c.gpu, relayout(w, Shape{w.shape()[1], w.shape()[0]}, Dims{w.strides()[1], w.strides()[0]}, w.layout().offset), result);
  return result;
}

// Sums x0 x1 .. of the projected inputs and h0 h1 .. of the recurrent parts become h; saved by the code: cells and gates.
const char* cell_code(const RnnSteps& a) {
  if (a.cell == "lstm")
    return R"(
    let i = sigmoid(x0 + h0); let f = sigmoid(x1 + h1); let g = tanh_bounded(x2 + h2); let o = sigmoid(x3 + h3);
    let cell = f * c_get(row * p.units + unit) + i * g;
    let h = o * tanh_bounded(cell);
    cells_set(row * p.units + unit, cell);
    gates_set(place, i); gates_set(place + p.units, f); gates_set(place + 2u * p.units, g); gates_set(place + 3u * p.units, o);
)";
  if (a.cell == "gru")
    return R"(
    let r = sigmoid(x0 + h0); let z = sigmoid(x1 + h1); let fresh = tanh_bounded(x2 + r * h2);
    let h = fresh + z * (h_get(row * p.units + unit) - fresh);
    gates_set(place, r); gates_set(place + p.units, z); gates_set(place + 2u * p.units, fresh); gates_set(place + 3u * p.units, h2);
)";
  return a.cell == "tanh" ? "let h = tanh_bounded(x0 + h0);\n" : "let h = select(max(x0 + h0, 0.0), x0 + h0, is_nan(x0 + h0));\n";
}

std::string per_gate(int64_t gates, int64_t row, std::string_view line) {
  std::string code;
  for (int64_t g = 0; g < gates; ++g)
    for (const char ch : line) ch == '#' ? code += std::to_string(g) : ch == '@' ? code += std::to_string(row) : code += ch;
  return code;
}

void forward(const Call& c) {
  const RnnSteps& a = c.attrs<RnnSteps>();
  const TensorHandle &projected = *c.in[0], &bias = *c.in[2], &output = c.out[0];
  const int64_t steps = projected.shape()[0], batch = projected.shape()[1], units = c.in[1]->shape()[1], gates = a.gates();
  const TensorHandle weight = transposed(c, *c.in[1]);
  const int64_t rows = std::min(kRows, batch);
  TensorHandle h = *c.in[3], cell = *c.in[4];
  for (int64_t n = 0; n < steps; ++n) {
    const int64_t t = a.reverse ? steps - 1 - n : n;
    Shader s(c.gpu);
    s.input("projected", step_of(projected, t)), s.input("weight", weight), s.input("h", h);
    if (bias.defined()) s.input("bias", bias);
    const TensorHandle next = step_of(output, t);
    s.output("output", next);
    if (a.cell == "lstm") {
      s.input("c", cell);
      cell = step_of(c.out[1], t);
      s.output("cells", cell);
    }
    if (gates > 1) s.output("gates", step_of(c.out[2], t));
    h = next;
    s.number("units", units), s.number("batch", batch);
    s.declare(
        "fn sigmoid(x: f32) -> f32 { return 1.0 / (1.0 + exp(-x)); }\n"
        "fn tanh_bounded(x: f32) -> f32 { return select(tanh(clamp(x, -20.0, 20.0)), x, is_nan(x)); }\n");
    std::string code = format("let unit = i % p.units; let row0 = i / p.units * {}u;\n", rows);
    for (int64_t r = 0; r < rows; ++r)
      code += per_gate(gates, r, bias.defined() ? "var s@_# = bias_get(#u * p.units + unit);\n" : "var s@_# = 0.0;\n");
    for (int64_t r = 0; r < rows; ++r) code += format("let from{} = min(row0 + {}u, p.batch - 1u) * p.units;\n", r, r);
    code += "for (var k = 0u; k < p.units; k++) {\n" +
            per_gate(gates, 0, format("let w# = weight_get((k * {}u + #u) * p.units + unit);\n", gates));
    for (int64_t r = 0; r < rows; ++r)
      code += format("let b{} = h_get(from{} + k);\n", r, r) + per_gate(gates, r, "s@_# = fma(b@, w#, s@_#);\n");
    code += "}\n";
    for (int64_t r = 0; r < rows; ++r)
      code += format("if (row0 + {}u < p.batch) {\nlet row = row0 + {}u;\nlet place = row * 4u * p.units + unit;\n", r, r) +
              per_gate(gates, r, format("let h# = s@_#; let x# = projected_get((row * {}u + #u) * p.units + unit);\n", gates)) +
              cell_code(a) + "output_set(row * p.units + unit, h);\n}\n";
    s.run_each(Checked(divide_up(batch, rows)) * units, code);
  }
}

// From dh, the gradient of the state after the step: those of the projected inputs, of the recurrent part and of the state before, `rest`
// of which comes with the product with the weights.
const char* cell_gradient(const RnnSteps& a) {
  if (a.cell == "lstm")
    return R"(
  let gate0 = gates_get(place); let gate1 = gates_get(place + p.units);
  let gate2 = gates_get(place + 2u * p.units); let gate3 = gates_get(place + 3u * p.units);
  let bent = tanh_bounded(cells_get(i));
  let d_cell = dc_get(i) + arriving(i) + dh * gate3 * (1.0 - bent * bent);
  d_set(place, d_cell * gate2 * gate0 * (1.0 - gate0));
  d_set(place + p.units, d_cell * c_get(i) * gate1 * (1.0 - gate1));
  d_set(place + 2u * p.units, d_cell * gate0 * (1.0 - gate2 * gate2));
  d_set(place + 3u * p.units, dh * bent * gate3 * (1.0 - gate3));
  dc_set(i, d_cell * gate1);
  let rest = 0.0;
)";
  if (a.cell == "gru")
    return R"(
  let r = gates_get(place); let z = gates_get(place + p.units);
  let fresh = gates_get(place + 2u * p.units); let q = gates_get(place + 3u * p.units);
  let d_fresh = dh * (1.0 - z) * (1.0 - fresh * fresh);
  let d_z = dh * (h_get(i) - fresh) * z * (1.0 - z);
  let d_r = d_fresh * q * r * (1.0 - r);
  let to = row * 3u * p.units + unit;
  d_set(to, d_r); d_set(to + p.units, d_z); d_set(to + 2u * p.units, d_fresh);
  recurrent_set(to, d_r); recurrent_set(to + p.units, d_z); recurrent_set(to + 2u * p.units, d_fresh * r);
  let rest = dh * z;
)";
  return a.cell == "tanh" ? "let y = y_get(i); d_set(i, dh * (1.0 - y * y)); let rest = 0.0;\n"
                          : "d_set(i, select(0.0, dh, y_get(i) > 0.0)); let rest = 0.0;\n";
}

void fill_zero(const Call& c, const TensorHandle& x) {
  Shader s(c.gpu);
  s.output("x", x);
  s.run_each(x.numel(), "x_set(i, 0.0);");
}

void backward(const Call& c) {
  const RnnSteps& a = c.attrs<RnnSteps>();
  const TensorHandle &dy = *c.in[0], &d_cells = *c.in[1], &weight = *c.in[2], &h0 = *c.in[3], &c0 = *c.in[4], &output = *c.in[5],
                     &cells = *c.in[6], &gates = *c.in[7];
  const int64_t steps = output.shape()[0], batch = output.shape()[1], units = output.shape()[2];
  const bool is_lstm = a.cell == "lstm", is_gru = a.cell == "gru";
  const TensorHandle dh = scratch(c, DType::float32, h0.shape()), dc = is_lstm ? scratch(c, DType::float32, h0.shape()) : TensorHandle();
  fill_zero(c, dh);
  if (is_lstm) fill_zero(c, dc);
  for (int64_t n = steps - 1; n >= 0; --n) {
    const int64_t t = a.reverse ? steps - 1 - n : n, before = a.reverse ? t + 1 : t - 1;
    const TensorHandle d = step_of(c.out[0], t), recurrent = is_gru ? step_of(c.out[1], t) : d;
    {
      Shader s(c.gpu);
      s.input("dy", step_of(dy, t));
      s.output("dh", dh), s.output("d", d);
      s.number("units", units);
      if (is_lstm) {
        s.input("gates", step_of(gates, t)), s.input("cells", step_of(cells, t));
        s.input("c", n == 0 ? c0 : step_of(cells, before));
        s.output("dc", dc);
        if (d_cells.defined()) s.input("d_cells", step_of(d_cells, t));
        s.declare("fn tanh_bounded(x: f32) -> f32 { return select(tanh(clamp(x, -20.0, 20.0)), x, is_nan(x)); }\n");
        s.declare(format("fn arriving(i: u32) -> f32 { return {}; }\n", d_cells.defined() ? "d_cells_get(i)" : "0.0"));
      } else if (is_gru) {
        s.input("gates", step_of(gates, t));
        s.input("h", n == 0 ? h0 : step_of(output, before));
        s.output("recurrent", recurrent);
      } else {
        s.input("y", step_of(output, t));
      }
      s.run_each(Checked(batch) * units,
          "let unit = i % p.units; let row = i / p.units; let place = row * 4u * p.units + unit;\nlet dh = dh_get(i) + dy_get(i);\n" +
              std::string(cell_gradient(a)) + "dh_set(i, rest);");
    }
    Product p{.m = batch, .n = units, .k = weight.shape()[0]};
    p.inputs = [&](Shader& s) { s.input("d", recurrent), s.input("w", weight), s.strides("d", recurrent), s.strides("w", weight); };
    p.left = "return d_load(row * p.d_stride0 + k * p.d_stride1);";
    p.right = "return w_load(k * p.w_stride0 + column * p.w_stride1);";
    p.outputs = [&](Shader& s) { s.output("dh", dh); };
    p.store = "let i = row * p.n + column; dh_set(i, dh_get(i) + sum);";
    run_product(c, p);
  }
  copy(c.gpu, dh, c.out[2]);
  if (is_lstm) copy(c.gpu, dc, c.out[3]);
}

}  // namespace

void register_rnn_steps(KernelTable& kernels) {
  kernels.add(op::rnn_steps, forward, nullptr, kFloats);
  kernels.add(op::rnn_steps_grad, backward, nullptr, kFloats);
}

}  // namespace pyburn::wgpu
