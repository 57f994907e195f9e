#include "pyburn/inference/onnx_export.h"

#include <algorithm>
#include <set>

#include "pyburn/graph/passes.h"
#include "pyburn/inference/capture.h"
#include "pyburn/io/atomic_file.h"
#include "pyburn/onnx/export/export_rows.h"
#include "pyburn/onnx/export/without_writes.h"
#include "pyburn/ops/copy.h"
#include "pyburn/runtime/graph_run.h"
#include "pyburn/support/error.h"

namespace pyburn::onnx {
namespace {

// Branches, loops and results whose sizes depend on values are not: their decompositions read values.
bool is_decomposed(const GraphNode& node) {
  const OpInfo& op = node.op.info();
  return !find_export_row(op) && op.decompose && op.kind != Kind::dynamic;
}

void run_node(GraphRun& run, const GraphNode& node) {
  if (!is_decomposed(node)) return run.run(node);
  const TensorHandle absent;
  InputList in;
  for (ValueId v : node.in) in.add(v < 0 ? absent : run[v]);
  const Operation op = run.operation(node);
  Tensors results = op.info().decompose(op.ref(), in);
  if (!node.writes) return run.set_results(node, std::move(results));
  for (int64_t k = 0; k < results.size(); ++k) copy_into(run[node.out[k]], results[k]);
}

std::vector<CaptureInput> inputs_of(const Graph& g) {
  std::vector<CaptureInput> inputs;
  for (size_t i = 0; i < g.inputs.size(); ++i) {
    CaptureInput& input = inputs.emplace_back();
    input.meta = g.values[size_t(g.inputs[i])];
    input.name = i < g.input_names.size() ? g.input_names[i] : "";
    input.example = input.meta.shape;
    input.extents.resize(size_t(input.meta.shape.rank()));
  }
  for (const FreeAxis& f : g.free_axes) {
    inputs[size_t(f.input)].meta.shape[f.axis] = -1;
    inputs[size_t(f.input)].extents[size_t(f.axis)] = g.extents[size_t(f.extent)];
  }
  return inputs;
}

// The same graph, with operations that ONNX does not have replaced by their decompositions.
Ref<Graph> with_decompositions(const Graph& g, Device& device) {
  CaptureOptions options;
  options.output_names = g.output_names;
  options.simplify = false;
  for (size_t i = 0; i < g.constants.size(); ++i)
    if (i < g.constant_names.size() && !g.constant_names[i].empty())
      options.constants.emplace_back(g.constant_names[i], g.constants[i].second);
  return capture(
      device, inputs_of(g),
      [&](const Tensors& given) {
        InputList in;
        in.add(given);
        GraphRun run(g, extents_of(g, in), &device);
        for (size_t i = 0; i < g.inputs.size(); ++i) run.set(g.inputs[i], given[int64_t(i)]);
        for (const auto& [v, t] : g.constants) run.set(v, t);
        for (const GraphNode& node : g.nodes) run_node(run, node);
        run.run_updates();
        return run.outputs();
      },
      options);
}

// The same graph in operations that ONNX has, as far as there are any, without writes.
Ref<Graph> in_operations_of_onnx(const Graph& graph, Device& device) {
  constexpr int kDeepest = 8;  // decompositions of decompositions
  Ref<Graph> g = copy_of(graph);
  for (int i = 0; i < kDeepest && std::any_of(g->nodes.begin(), g->nodes.end(), is_decomposed); ++i) g = with_decompositions(*g, device);
  return drop_dead_nodes(*without_writes(*values_for_writes(*g)));
}

// Results of expand that only operators read which stretch their inputs themselves, beside another operand of the full shape.
std::vector<bool> implicit_expands(const GraphWriter& writer) {
  const Graph& g = writer.graph();
  const auto is_expand = [&](ValueId v) { return v >= 0 && writer.maker(v) && writer.maker(v)->op.info().name() == "expand"; };
  std::vector<bool> implicit(g.values.size());
  std::set<ValueId> outputs(g.outputs.begin(), g.outputs.end());
  for (const GraphNode& n : g.nodes) {
    if (!is_expand(n.out[0]) || outputs.count(n.out[0])) continue;
    const auto stretches = [&](const GraphNode* user) {
      const ExportRow* row = find_export_row(user->op.info());
      if (!row || !row->broadcasts || !user->patches.empty()) return false;
      return std::any_of(user->in.begin(), user->in.end(),
          [&](ValueId v) { return v >= 0 && !is_expand(v) && writer.meta(v).shape == writer.meta(n.out[0]).shape; });
    };
    const auto& users = writer.users(n.out[0]);
    implicit[size_t(n.out[0])] = std::all_of(users.begin(), users.end(), stretches);
  }
  return implicit;
}

void write_nodes(GraphWriter& writer) {
  const std::vector<bool> implicit = implicit_expands(writer);
  std::set<std::string> refused;
  for (const GraphNode& node : writer.graph().nodes) {
    if (implicit[size_t(node.out[0])]) {
      writer.bind(node.out[0], writer.name(node.in[0]));
      continue;
    }
    if (std::all_of(node.out.begin(), node.out.end(), [&](ValueId v) { return writer.is_bound(v); })) continue;  // a part of another node
    const ExportRow* row = find_export_row(node.op.info());
    try {
      const ExportCall call(writer, node, row ? row->type : "");
      if (!row) call.refuse("no operator of ONNX does this");
      row->write(call);
    } catch (const UnsupportedOp& e) {
      refused.insert(e.what());
      for (ValueId v : node.out)
        if (!writer.is_bound(v)) writer.bind(v, "unsupported");
    }
  }
  if (refused.empty()) return;
  std::string list;
  for (const std::string& why : refused) list += "\n  " + why;
  fail<UnsupportedOp>("[onnx.export] the model has operations that cannot be exported:{}", list);
}

GraphWriter written(const Graph& graph, const ExportOptions& options) {
  GraphWriter writer(graph, options.opset, options.input_names, options.output_names);
  write_nodes(writer);
  return writer;
}
void check(const Graph& graph, const ExportOptions& o) {
  require<ValueError>(o.opset >= kOldestExported && o.opset <= kNewestExported, "[onnx.export] opset must be from {} to {}: got {}",
      kOldestExported, kNewestExported, o.opset);
  const auto fits = [](const char* what, const std::vector<std::string>& names, size_t count) {
    require<ValueError>(names.empty() || names.size() == count, "[onnx.export] expected {} {} names: got {}", count, what, names.size());
  };
  fits("input", o.input_names, graph.inputs.size());
  fits("output", o.output_names, graph.outputs.size());
}

}  // namespace

std::string to_onnx(const Graph& graph, Device& device, const ExportOptions& options) {
  check(graph, options);
  const Ref<Graph> exported = in_operations_of_onnx(graph, device);
  return written(*exported, options).finish(options.graph_name);
}

void save_onnx(const Graph& graph, Device& device, const std::filesystem::path& path, const ExportOptions& options) {
  constexpr int64_t kLargest = int64_t(1) << 30;  // of the weights in the file: protobuf ends at 2 GiB
  check(graph, options);
  const Ref<Graph> exported = in_operations_of_onnx(graph, device);
  GraphWriter writer = written(*exported, options);
  std::string external;
  const bool outside = options.external_data || writer.constant_bytes() > kLargest;
  const std::filesystem::path data = path.string() + ".data";
  const std::string model = writer.finish(options.graph_name, outside ? &external : nullptr, data.filename().string());
  const auto write = [](const std::filesystem::path& to, const std::string& bytes) {
    io::atomic_write(to, [&](io::AtomicFile& file) { file.write(std::as_bytes(std::span(bytes))); });
  };
  if (outside) write(data, external);
  write(path, model);
}

}  // namespace pyburn::onnx
