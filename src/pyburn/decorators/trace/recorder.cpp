#include "pyburn/decorators/trace/recorder.h"

#include <algorithm>

#include "pyburn/support/error.h"

namespace pyburn {
namespace {

bool same_place(const TensorHandle& a, const TensorHandle& b) {
  return a.storage() == b.storage() && a.dtype() == b.dtype() && a.layout() == b.layout();
}

}  // namespace

Recorder::Memory& Recorder::memory_of(const TensorHandle& x, Origin origin) {
  const auto [it, fresh] = memory_.try_emplace(x.storage());
  if (fresh) {
    it->second.storage = Ref<Storage>(x.storage());
    it->second.origin = origin;
  }
  return it->second;
}

ValueId Recorder::find(const Memory& m, const TensorHandle& x) {
  for (const Region& r : m.regions)
    if (r.dtype == x.dtype() && r.layout == x.layout()) return r.id;
  return -1;
}

ValueId Recorder::add_region(Memory& m, const TensorHandle& x) {
  const ValueId id = graph_->add_value(x.meta());
  m.regions.push_back({x.layout(), x.dtype(), id});
  return id;
}

void Recorder::add_input(const TensorHandle& x, std::string name) {
  Memory& m = memory_of(x, Origin::input);
  require<CaptureError>(find(m, x) < 0, "[trace] the same tensor is passed as two inputs: got {}", x.shape());
  ++m.roots;
  graph_->inputs.push_back(add_region(m, x));
  graph_->input_names.push_back(std::move(name));
}

void Recorder::name_constant(const TensorHandle& x, std::string name) { names_.push_back({x, std::move(name)}); }

ValueId Recorder::value_of(const TensorHandle& x) {
  Memory& m = memory_of(x, Origin::constant);
  if (const ValueId id = find(m, x); id >= 0) return id;
  // A place that no recorded operation made: a constant, unless its values come from the recording.
  require<CaptureError>(m.origin == Origin::constant && (x.storage()->has_values || is_inside_),
      "a view was made outside of the recording from a tensor that belongs to it: got {}", x.shape());
  require<CaptureError>(!m.written, "two views of a tensor, made before the recording, are used, and one is written to: got {}", x.shape());
  ++m.roots;
  m.constants.push_back(graph_->constants.size());
  const ValueId id = add_region(m, x);
  graph_->constants.emplace_back(id, alias(x, x.layout()));  // without flags and history
  given_.push_back(x);
  const auto name = std::find_if(names_.begin(), names_.end(), [&](const Name& n) { return same_place(n.tensor, x); });
  graph_->constant_names.push_back(name == names_.end() ? "" : name->text);
  return id;
}

void Recorder::note_write(const TensorHandle& x) {
  Memory& m = memory_.at(x.storage());
  require<CaptureError>(
      m.roots <= 1, "two views of a tensor, created before the recording, are used, and one is written to: got {}", x.shape());
  if (!m.written && snapshot_)
    for (size_t i : m.constants) graph_->constants[i].second = snapshot_(graph_->constants[i].second);
  m.written = true;
}

Recorder::Pending Recorder::before(OpRef op, Inputs in, Outputs out) {
  Pending pending;
  for (const TensorHandle* t : in) pending.in.push_back(t->defined() ? value_of(*t) : -1);
  for (const TensorHandle& t : out) {
    const bool writes = op.info->kind != Kind::view && t.defined() && t.storage();
    pending.written.push_back(writes ? value_of(t) : -1);
    if (writes) note_write(t);
  }
  return pending;
}

void Recorder::after(OpRef op, const Pending& pending, Outputs out) {
  GraphNode node{Operation(op), pending.in, {}, false, {}};
  bool needed = out.empty();
  for (size_t i = 0; i < out.size(); ++i) {
    ValueId id = pending.written[int64_t(i)];
    if (id >= 0) {
      node.writes = needed = true;
    } else {
      Memory& m = memory_of(out[i], Origin::made);
      id = find(m, out[i]);
      if (id < 0) {
        needed = true;
        id = add_region(m, out[i]);
      }
    }
    node.out.push_back(id);
  }
  // A view that leads back to a known place, such as x.T.T, needs no node.
  if (!needed) return;
  note_unknown_extents(node);
  graph_->nodes.push_back(std::move(node));
}

void Recorder::note_unknown_extents(const GraphNode& node) {
  const OpInfo& info = node.op.info();
  if (info.kind != Kind::dynamic || !info.infer) return;
  SmallVector<Meta, 4> metas;
  for (ValueId v : node.in) metas.push_back(v < 0 ? Meta{} : graph_->values[size_t(v)]);
  MetaList results;
  info.infer(node.op.ref(), {metas.data(), size_t(metas.size())}, results);
  for (int64_t k = 0; k < results.size(); ++k)
    for (int axis = 0; axis < results[k].shape.rank(); ++axis) {
      if (results[k].shape[axis] >= 0) continue;
      const auto extent = int32_t(graph_->extents.size());
      graph_->extents.push_back("u" + std::to_string(extent));
      graph_->unknown_axes.push_back({node.out[k], axis, extent});
    }
}

Ref<Graph> Recorder::finish(std::span<const TensorHandle> outputs, std::vector<std::string> names) {
  for (const TensorHandle& t : outputs) {
    require<CaptureError>(t.defined(), "[trace] an output is missing");
    graph_->outputs.push_back(value_of(t));
  }
  graph_->output_names = std::move(names);
  check(*graph_);
  return std::move(graph_);
}

void Recorder::forget_unused() {
  std::erase_if(memory_, [](const auto& entry) { return entry.second.origin == Origin::made && entry.second.storage->use_count() == 1; });
}

bool Recorder::is_stale(const TensorHandle& x) const {
  const auto it = memory_.find(x.storage());
  return it != memory_.end() && it->second.written && !snapshot_;
}

}  // namespace pyburn
