#include "pyburn/inference/graph_check.h"

#include "pyburn/backends/null/null_backend.h"
#include "pyburn/graph/aliases.h"
#include "pyburn/ops/fused.h"
#include "pyburn/runtime/door_ops.h"
#include "pyburn/runtime/graph_run.h"
#include "pyburn/support/error.h"

namespace pyburn {
namespace {

// Errors of the door become errors of the file.
template <class Body, class Where>
void named(Body body, Where where) {
  try {
    body();
  } catch (const Interrupted&) {
    throw;
  } catch (const Error& e) {
    fail<FormatError>("[graph_file] {}: {}", where(), e.what());
  }
}

class NullRun {
 public:
  NullRun(const Graph& g, Device& device)
      : g_(g),
        device_(device),
        null_(new NullBackend(Ref<Backend>(&device.leaf()), [this] { return stated_extent(); })),
        run_(g, captured_extents(g), &device) {
    for (ValueId v : g.inputs) place(v);
    for (const auto& [v, t] : g.constants) place(v);
  }

  void run() {
    const LevelScope scope(*null_);
    for (size_t i = 0; i < g_.nodes.size(); ++i)
      named([&] { run(g_.nodes[i]); }, [&] { return format("node {}, {}", i, to_text(g_.nodes[i].op.ref())); });
    for (const auto& [state, value] : g_.updates)
      named([&] { update(state, value); }, [&] { return format("update of %{} by %{}", state, value); });
  }

 private:
  void place(ValueId v) {
    const Meta& m = g_.values[size_t(v)];
    run_.set(v, make_tensor(device_, m.dtype, contiguous_layout(m.shape), null_->allocate(m.dtype, m.shape.numel())));
  }

  // Extents that follow from values have the sizes that the graph states.
  int64_t stated_extent() {
    require<FormatError>(next_unknown_ < g_.unknown_axes.size(), "the graph names no extent for a size that depends on values");
    const UnknownAxis& u = g_.unknown_axes[next_unknown_++];
    return g_.values[size_t(u.value)].shape[u.axis];
  }

  void run(const GraphNode& node) {
    require<FormatError>(&node.op.info() != &op::fused, "fused operations are made by sessions and belong in no file");
    // At the sizes of the capture the expressions must give the numbers that the graph states.
    const Operation op = run_.operation(node);
    require<FormatError>(op == node.op, "its numbers do not follow the free extents: got {}", to_text(op.ref()));
    for (const Ref<Graph>& inside : sub_graphs(op.ref())) check_inside(*inside, device_);
    run_.run(node, op);
    for (ValueId v : node.out) {
      const Meta& stated = g_.values[size_t(v)];
      const TensorHandle& made = run_[v];
      require<FormatError>(made.defined() && made.meta() == stated, "the graph states another result: expected {} {}, got {} {}",
          made.dtype(), made.shape(), stated.dtype, stated.shape);
    }
  }

  static void check_inside(const Graph& g, Device& device) {
    require<FormatError>(g.constants.empty() && g.updates.empty(), "a graph inside an operation has constants or state");
    const std::vector<bool> written = values_that_may_be_written(g);
    for (ValueId v : g.inputs) require<FormatError>(!written[size_t(v)], "a graph inside an operation writes to its input %{}", v);
    NullRun(g, device).run();
  }

  void update(ValueId state, ValueId value) {
    InputList in;
    in.add(run_[value]);
    call_into(op::cast, CastTo{run_[state].dtype()}, in, run_[state]);
  }

  const Graph& g_;
  Device& device_;
  Ref<Backend> null_;
  GraphRun run_;
  size_t next_unknown_ = 0;
};

}  // namespace

void check_nodes(const Graph& g, Device& device) { NullRun(g, device).run(); }

}  // namespace pyburn
