// Recurrent layers. The product with the weights of the input stands before the steps; ONNX has both in one node.
#include "pyburn/onnx/export/export_rows.h"
#include "pyburn/ops/movement.h"
#include "pyburn/ops/rnn_steps.h"

namespace pyburn::onnx {
namespace {

struct Cell {
  const char* type;
  std::vector<int64_t> gates;  // which of pyburn's stands at each place of ONNX's
};
Cell cell_of(const RnnSteps& a) {
  if (a.cell == "lstm") return {"LSTM", {0, 3, 1, 2}};  // input, forget, cell, output -> input, output, forget, cell
  if (a.cell == "gru") return {"GRU", {1, 0, 2}};       // reset, update, new -> update, reset, new
  return {"RNN", {0}};
}

// Rows by gate, in ONNX's order, with the axis of directions in front.
std::string by_gates(const ExportCall& c, const Cell& cell, const std::string& x, int64_t size, int64_t columns) {
  const int64_t gates = int64_t(cell.gates.size());
  std::string rows = x;
  if (gates > 1) {
    rows = c.add("Reshape", {x, c.integers(std::vector<int64_t>{gates, size, columns})});
    rows = c.add("Gather", {rows, c.integers(cell.gates)}, {{"axis", int64_t(0)}});
  }
  std::vector<int64_t> shape{1, gates * size};
  if (columns > 1) shape.push_back(columns);
  return c.add("Reshape", {rows, c.integers(shape)});
}

// The inputs of all steps, and the weight and bias that project them.
struct Projection {
  std::string input, weight, bias;
  int64_t size;  // of an input
};
Projection projection_of(const ExportCall& c, const Cell& cell, int64_t hidden) {
  const int64_t rows = int64_t(cell.gates.size()) * hidden;
  const GraphNode* maker = c.writer.maker(c.node.in[0]);
  if (maker && maker->op.info().name() == "linear" && !maker->writes && c.writer.meta(maker->in[1]).shape.rank() == 2) {
    const int64_t size = c.writer.meta(maker->in[1]).shape[1];
    const bool has_bias = maker->in.size() > 2 && maker->in[2] >= 0;
    return {c.writer.name(maker->in[0]), by_gates(c, cell, c.writer.name(maker->in[1]), hidden, size),
        has_bias ? by_gates(c, cell, c.writer.name(maker->in[2]), hidden, 1) : "", size};
  }
  const std::string one = c.add("EyeLike", {c.add("Expand", {c.number(0.0), c.integers(std::vector<int64_t>{rows, rows})})});
  return {c.in(0), by_gates(c, cell, one, hidden, rows), "", rows};
}

void write_steps(const ExportCall& c) {
  const RnnSteps& a = c.as<RnnSteps>();
  const Cell cell = cell_of(a);
  const int64_t hidden = c.meta(1).shape[1], rows = int64_t(cell.gates.size()) * hidden;
  if (c.writer.is_used(c.node.out[2])) c.refuse("gates are only used in training");
  const Projection p = projection_of(c, cell, hidden);
  const std::string weight = by_gates(c, cell, c.in(1), hidden, hidden);
  std::string bias;
  if (!p.bias.empty() || c.has(2)) {
    const std::string none = c.add("Expand", {c.number(0.0), c.integers(std::vector<int64_t>{1, rows})});
    bias =
        c.add("Concat", {p.bias.empty() ? none : p.bias, c.has(2) ? by_gates(c, cell, c.in(2), hidden, 1) : none}, {{"axis", int64_t(1)}});
  }
  const std::string axis = c.integers(std::vector<int64_t>{0});
  const auto state = [&](int64_t i) { return c.has(i) ? c.add("Unsqueeze", {c.in(i), axis}) : std::string(); };
  Names inputs{p.input, p.weight, weight, bias, "", state(3)};
  Attributes attributes{{"hidden_size", hidden}, {"direction", std::string(a.reverse ? "reverse" : "forward")}};
  if (a.cell == "lstm") inputs.push_back(state(4));
  if (a.cell == "gru") attributes.push_back(flag("linear_before_reset", true));
  if (a.cell == "relu") attributes.push_back({"activations", std::string("Relu")});
  const Names results = c.writer.add(cell.type, inputs, attributes, a.cell == "lstm" ? 3 : 2);
  c.make("Squeeze", {results[0], c.integers(std::vector<int64_t>{1})});
  if (a.cell != "lstm") return;
  // Of the cells ONNX gives the last ones alone.
  const int64_t steps = c.meta(0).shape[0], last = a.reverse ? 0 : steps - 1;
  for (const GraphNode* user : c.writer.users(c.node.out[1])) {
    const Slice* slice = user->op.info().name() == "slice" ? &user->op.ref().as<Slice>() : nullptr;
    if (!slice || slice->dim != 0 || slice->length != 1 || slice->start != last)
      c.refuse("of the cells only the last ones have a counterpart");
    c.writer.bind(user->out[0], results[2]);
  }
}

constexpr ExportRow kRows[] = {{"rnn_steps", write_steps}};

}  // namespace

ExportRows recurrent_rows() { return kRows; }

}  // namespace pyburn::onnx
