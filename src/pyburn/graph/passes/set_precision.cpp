// Products and convolutions in another precision: their inputs are cast, weights once, and their results are cast back.
#include <algorithm>
#include <unordered_map>

#include "pyburn/graph/aliases.h"
#include "pyburn/graph/passes.h"
#include "pyburn/runtime/door_ops.h"
#include "pyburn/runtime/run.h"
#include "pyburn/support/error.h"
#include "pyburn/support/interrupt.h"

namespace pyburn {
namespace {

bool is_single_or_half(DType d) { return d == DType::float32 || d == DType::float16 || d == DType::bfloat16; }

class Caster {
 public:
  Caster(const Graph& g, DType dtype) : graph_(copy_of(g)), dtype_(dtype), written_(values_that_may_be_written(g)) {
    for (const auto& [v, t] : g.constants) constants_[v] = t;
  }

  Ref<Graph> run() {
    std::vector<GraphNode> nodes = std::move(graph_->nodes);
    graph_->nodes.clear();
    for (GraphNode& n : nodes)
      if (!cast_inputs(n)) graph_->nodes.push_back(std::move(n));
    check(*graph_);
    return drop_dead_nodes(*graph_);
  }

 private:
  const Meta& meta(ValueId v) const { return graph_->values[size_t(v)]; }
  bool is_written(ValueId v) const { return size_t(v) < written_.size() && written_[size_t(v)]; }

  // Adds the node with cast inputs and outputs. False: it stays as it is.
  bool cast_inputs(const GraphNode& n) {
    if (n.op.info().autocast != Autocast::lower || n.writes) return false;
    std::vector<Meta> metas;
    bool changes = false;
    for (ValueId v : n.in) {
      Meta& m = metas.emplace_back(v < 0 ? Meta{} : meta(v));
      if (v < 0 || !is_floating(m.dtype)) continue;
      if (!is_single_or_half(m.dtype)) return false;
      changes |= m.dtype != dtype_;
      m.dtype = dtype_;
    }
    MetaList results;
    try {
      n.op.info().infer(n.op.ref(), {metas.data(), metas.size()}, results);
    } catch (const Interrupted&) {
      throw;
    } catch (const Error&) {
      return false;
    }
    if (!changes || int64_t(results.size()) != int64_t(n.out.size())) return false;
    GraphNode inner = n;
    for (ValueId& v : inner.in)
      if (v >= 0 && is_floating(meta(v).dtype)) v = cast(v);
    std::vector<std::pair<ValueId, ValueId>> back;
    for (int64_t k = 0; k < n.out.size(); ++k) {
      const ValueId v = n.out[k];
      if (results[k] == meta(v)) continue;
      inner.out[k] = graph_->add_value({meta(v).shape, results[k].dtype});
      back.emplace_back(inner.out[k], v);
      if (!is_written(v)) cast_[v] = inner.out[k];
    }
    graph_->nodes.push_back(std::move(inner));
    for (const auto& [from, to] : back) add_cast(from, to);
    return true;
  }

  ValueId cast(ValueId v) {
    if (meta(v).dtype == dtype_) return v;
    if (const auto known = cast_.find(v); known != cast_.end() && meta(known->second).dtype == dtype_) return known->second;
    const ValueId result = graph_->add_value({meta(v).shape, dtype_});
    if (is_written(v)) return add_cast(v, result), result;  // each reader reads what it is then
    cast_[v] = result;
    if (const auto constant = constants_.find(v); constant != constants_.end()) add_constant(constant->second, v, result);
    else add_cast(v, result);
    return result;
  }
  void add_cast(ValueId from, ValueId to) {
    const CastTo attrs{meta(to).dtype};
    graph_->nodes.push_back({Operation(OpRef{&op::cast, &attrs}), {from}, {to}, false, {}});
  }
  void add_constant(const TensorHandle& t, ValueId of, ValueId result) {
    InputList in;
    in.add(t);
    const size_t at = size_t(std::find_if(graph_->constants.begin(), graph_->constants.end(), [&](const auto& c) {
      return c.first == of;
    }) - graph_->constants.begin());
    const std::string name = at < graph_->constant_names.size() ? graph_->constant_names[at] : "";
    graph_->constants.emplace_back(result, call(op::cast, CastTo{dtype_}, in));
    if (!graph_->constant_names.empty()) graph_->constant_names.resize(graph_->constants.size()), graph_->constant_names.back() = name;
  }

  Ref<Graph> graph_;
  const DType dtype_;
  const std::vector<bool> written_;
  std::unordered_map<ValueId, TensorHandle> constants_;
  std::unordered_map<ValueId, ValueId> cast_;  // values in the new precision, by those in the old one
};

}  // namespace

Ref<Graph> with_precision(const Graph& g, DType dtype) {
  require<DTypeError>(is_single_or_half(dtype), "[with_precision] expected float32, float16 or bfloat16: got {}", dtype);
  return Caster(*optimise(g), dtype).run();  // scales are folded into weights before these are rounded
}

}  // namespace pyburn
