#include "pyburn/onnx/export/without_writes.h"

#include "pyburn/graph/aliases.h"
#include "pyburn/ops/generated/copy.h"
#include "pyburn/ops/generated/fill.h"
#include "pyburn/ops/generated/movement.h"
#include "pyburn/ops/movement.h"
#include "pyburn/ops/scatter.h"
#include "pyburn/runtime/transfer.h"
#include "pyburn/support/error.h"

namespace pyburn::onnx {
namespace {

class Rewriter {
 public:
  explicit Rewriter(const Graph& g) : old_(g), result_(copy_of(g)), group_(alias_groups(g)) {
    result_->nodes.clear();
    const size_t n = g.values.size();
    now_.resize(n);
    version_.resize(n);
    latest_.resize(n);
    made_by_.resize(n);
    for (size_t v = 0; v < n; ++v) now_[v] = ValueId(v);
    for (const GraphNode& node : g.nodes)
      if (!node.writes && is_alias(node)) made_by_[size_t(node.out[0])] = &node;
    varies_.resize(n);
    for (const FreeAxis& f : g.free_axes) varies_[size_t(g.inputs[size_t(f.input)])] = true;
    for (const GraphNode& node : g.nodes) {
      bool varies = !node.patches.empty();
      for (ValueId v : node.in) varies |= v >= 0 && varies_[size_t(v)];
      for (ValueId v : node.out) varies_[size_t(v)] = varies_[size_t(v)] || varies;
    }
  }

  Ref<Graph> run() {
    for (const GraphNode& node : old_.nodes) {
      GraphNode next = node;
      for (ValueId& v : next.in)
        if (v >= 0) v = current(v);
      if (node.writes) {
        next.writes = false;
        for (ValueId& v : next.out) v = result_->add_value(old_.values[size_t(v)]);
        result_->nodes.push_back(next);
        for (int64_t k = 0; k < node.out.size(); ++k) write(node.out[k], next.out[k]);
      } else {
        result_->nodes.push_back(std::move(next));
        for (ValueId v : node.out) version_[size_t(v)] = latest_[size_t(root(v))];
      }
    }
    for (ValueId& v : result_->outputs) v = current(v);
    return result_;
  }

 private:
  static bool is_alias(const GraphNode& node) { return node.op.info().kind == Kind::view || node.op.info().may_alias; }
  ValueId root(ValueId v) const { return group_[size_t(v)]; }

  // The value that holds what v holds now: views of what was written to are taken again.
  ValueId current(ValueId v) {
    const GraphNode* view = made_by_[size_t(v)];
    if (version_[size_t(v)] == latest_[size_t(root(v))] || !view) return now_[size_t(v)];
    if (view->op.info().may_alias)
      fail<UnsupportedOp>(
          "[onnx.export] {} of a tensor that is written to afterwards may or may not see the write: write before it, or use view()",
          view->op.info().name());
    GraphNode again = *view;
    again.in[0] = current(view->in[0]);
    again.out[0] = result_->add_value(old_.values[size_t(v)]);
    result_->nodes.push_back(again);
    version_[size_t(v)] = latest_[size_t(root(v))];
    return now_[size_t(v)] = again.out[0];
  }

  void write(ValueId v, ValueId written) {
    const ValueId group = root(v);
    ++latest_[size_t(group)];
    for (ValueId value = written;;) {
      now_[size_t(v)] = value;
      version_[size_t(v)] = latest_[size_t(group)];
      const GraphNode* view = made_by_[size_t(v)];
      if (!view) break;
      const ValueId behind = view->in[0];
      value = scattered(*view, now_[size_t(behind)], value);
      v = behind;
    }
    for (ValueId input : old_.inputs)
      if (input == v) fail<UnsupportedOp>("[onnx.export] the model writes into its input: ONNX models do not change their inputs");
    for (const auto& [constant, tensor] : old_.constants)
      if (constant == v)
        fail<UnsupportedOp>(
            "[onnx.export] the model writes into a tensor of its own (parameter or buffer): ONNX models have no state; call "
            "model.eval(), or return the new value");
  }

  ValueId add(OpRef op, SmallVector<ValueId, 4> in, Meta result) {
    GraphNode& node = result_->nodes.emplace_back();
    node.op = Operation(op);
    node.in = std::move(in);
    node.out.push_back(result_->add_value(std::move(result)));
    return node.out[0];
  }
  ValueId reshaped(ValueId v, const Shape& shape) {
    const View attrs{shape};
    return add({&op::reshape, &attrs}, {v}, {shape, result_->values[size_t(v)].dtype});
  }

  // `behind` with `value` at the places that the view sees.
  ValueId scattered(const GraphNode& view, ValueId behind, ValueId value) {
    const Meta meta = result_->values[size_t(behind)];
    if (view.op.info().kind != Kind::view || varies_[size_t(view.in[0])])
      fail<UnsupportedOp>("[onnx.export] a write through {} needs fixed shapes", view.op.info().name());
    const int64_t count = meta.shape.numel();
    const TensorHandle all = fn::reshape(fn::arange(Scalar(0), Scalar(count), 1, DType::int64, &host_device()), meta.shape);
    const TensorHandle places = fn::contiguous_copy(fn::reshape(alias(all, view.op.info().view(view.op.ref(), all.layout())), Dims{-1}));
    const ValueId index = result_->add_value(places.meta());
    result_->constants.emplace_back(index, places);
    if (!result_->constant_names.empty()) result_->constant_names.emplace_back();
    const Gather attrs{0};
    const ValueId flat = add(
        {&op::scatter_src, &attrs}, {reshaped(behind, Shape{count}), index, reshaped(value, places.shape())}, {Shape{count}, meta.dtype});
    return reshaped(flat, meta.shape);
  }

  const Graph& old_;
  Ref<Graph> result_;
  std::vector<ValueId> group_, now_;
  std::vector<int64_t> version_, latest_;  // of a value, and of its group (by its root): how many writes it has seen
  std::vector<const GraphNode*> made_by_;  // the view that made a value
  std::vector<bool> varies_;
};

}  // namespace

Ref<Graph> without_writes(const Graph& g) {
  require<UnsupportedOp>(
      g.updates.empty(), "[onnx.export] the graph updates its state: ONNX models have none; return the new values as outputs");
  return Rewriter(g).run();
}

}  // namespace pyburn::onnx
