#include "pyburn/inference/graph_check.h"

#include "pyburn/backends/null/null_backend.h"
#include "pyburn/graph/extents.h"
#include "pyburn/runtime/door_ops.h"
#include "pyburn/runtime/run.h"
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
      : g_(g), device_(device), null_(new NullBackend(Ref<Backend>(&device.leaf()))), values_(g.values.size()) {
    extents_.resize(g.extents.size());
    for (const FreeAxis& f : g.free_axes) extents_[size_t(f.extent)] = g.values[size_t(g.inputs[size_t(f.input)])].shape[f.axis];
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
    values_[size_t(v)] = make_tensor(device_, m.dtype, contiguous_layout(m.shape), null_->allocate(m.dtype, m.shape.numel()));
  }

  void run(const GraphNode& node) {
    const TensorHandle absent;
    InputList in;
    for (ValueId v : node.in) in.add(v < 0 ? absent : values_[size_t(v)]);
    Tensors out;
    for (ValueId v : node.out) out.push_back(node.writes ? values_[size_t(v)] : TensorHandle());
    // At the sizes of the capture the expressions must give the numbers that the graph states.
    const Operation op = operation_at(node, extents_, in);
    require<FormatError>(op == node.op, "its attributes do not match the dynamic sizes: got {}", to_text(op.ref()));
    dispatch(op.ref(), in, {out.data(), size_t(out.size())}, &device_);
    for (int64_t k = 0; k < out.size(); ++k) {
      const Meta& stated = g_.values[size_t(node.out[k])];
      require<FormatError>(out[k].defined() && out[k].meta() == stated, "the result differs from the graph: expected {} {}, got {} {}",
          out[k].dtype(), out[k].shape(), stated.dtype, stated.shape);
      values_[size_t(node.out[k])] = std::move(out[k]);
    }
  }

  void update(ValueId state, ValueId value) {
    InputList in;
    in.add(values_[size_t(value)]);
    call_into(op::cast, CastTo{values_[size_t(state)].dtype()}, in, values_[size_t(state)]);
  }

  const Graph& g_;
  Device& device_;
  Ref<Backend> null_;
  std::vector<TensorHandle> values_;
  std::vector<int64_t> extents_;  // at the capture
};

}  // namespace

void check_nodes(const Graph& g, Device& device) { NullRun(g, device).run(); }

}  // namespace pyburn
