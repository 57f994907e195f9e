// The structure of a queue, and plans by structure.
#include <algorithm>

#include "pyburn/decorators/fusion/cut.h"
#include "pyburn/ops/matmul.h"
#include "pyburn/ops/reduce.h"
#include "pyburn/support/fault.h"

namespace pyburn {
namespace {

using Role = QueueStructure::Role;

// Equal things get equal numbers, in order of appearance. A queue knows few distinct ones: a list is enough.
template <class T>
class Numbering {
 public:
  int32_t operator()(const T& thing) {
    for (size_t i = seen_.size(); i-- > 0;)
      if (*seen_[i] == thing) return int32_t(i);
    seen_.push_back(&thing);
    return int32_t(seen_.size()) - 1;
  }

 private:
  std::vector<const T*> seen_;
};

bool is_elementwise(const QueuedNode& node) {
  if (node.op.info().kind != Kind::elementwise || node.out.size() != 1 || node.in.empty()) return false;
  const QueuedOperand& out = node.out[0];
  for (const QueuedOperand& in : node.in) {
    if (in.slot < 0 || !(in.layout.shape == out.layout.shape)) return false;
    // Reads one part of a storage and writes another: no run can hold it.
    if (in.slot == out.slot && !(in.layout == out.layout)) return false;
  }
  return true;
}

// Over trailing axes, and of something.
bool may_end_run(const QueuedNode& node) {
  const OpInfo& info = node.op.info();
  if (&info != &op::sum && &info != &op::mean && &info != &op::amax && &info != &op::amin) return false;
  const Shape& shape = node.in[0].layout.shape;
  const Dims& dim = node.op.ref().as<Reduce>().dim;
  for (int64_t i = 0; i < dim.size(); ++i)
    if (dim[i] != shape.rank() - dim.size() + i) return false;
  return node.in[0].dtype == node.out[0].dtype && node.in[0].slot != node.out[0].slot && shape.numel() > 0;
}

// Into memory in plain order, from elsewhere.
bool may_begin_run(const QueuedNode& node) {
  if (!pyburn::may_begin_run(node.op.info()) || !is_floating(node.out[0].dtype)) return false;
  for (const QueuedOperand& in : node.in)
    if (in.slot < 0 || in.slot == node.out[0].slot) return false;
  return node.out[0].layout.is_contiguous() && node.out[0].layout.shape.numel() > 0;
}

uint64_t hash_of(const std::vector<uint32_t>& words) {
  uint64_t h = 0xcbf29ce484222325u;
  for (uint32_t w : words) h = (h ^ w) * 0x9e3779b97f4a7c15u + (h >> 29);
  return h;
}

}  // namespace

bool may_begin_run(const OpInfo& info) { return &info == &op::bmm || &info == &op::bmm_plus; }

QueueStructure describe(const Queue& queue, bool fuses) {
  QueueStructure s;
  s.nodes.reserve(queue.nodes().size());
  Numbering<Layout> layouts;
  Numbering<Shape> shapes;
  std::vector<std::pair<int64_t, int64_t>> extents;
  auto extent = [&](const Layout& l) {
    if (!l.is_contiguous()) return -1;
    const std::pair<int64_t, int64_t> e{l.offset, l.shape.numel()};
    const auto at = std::find(extents.begin(), extents.end(), e);
    if (at == extents.end()) return extents.push_back(e), int32_t(extents.size()) - 1;
    return int32_t(at - extents.begin());
  };
  auto operand = [&](const QueuedOperand& o) -> QueueStructure::Operand {
    if (o.slot < 0) return {-1, -1, -1, -1, o.dtype};
    return {o.slot, layouts(o.layout), shapes(o.layout.shape), extent(o.layout), o.dtype};
  };
  auto role = [&](const QueuedNode& node) {
    if (!fuses) return Role::opaque;
    return is_elementwise(node)  ? Role::elementwise
           : may_end_run(node)   ? Role::reduction
           : may_begin_run(node) ? Role::product
                                 : Role::opaque;
  };
  for (const QueuedNode& node : queue.nodes()) {
    QueueStructure::Node& n = s.nodes.emplace_back();
    n.op = &node.op.info();
    n.role = role(node);
    for (const QueuedOperand& o : node.in) n.in.push_back(operand(o));
    for (const QueuedOperand& o : node.out) n.out.push_back(operand(o));
  }
  for (int32_t slot = 0; slot < queue.slots(); ++slot) s.visible.push_back(queue.held_elsewhere(slot));
  s.hazards_ignored = planted_fault == Fault::missing_flush;
  return s;
}

std::vector<uint32_t> QueueStructure::key() const {
  std::vector<uint32_t> words;
  words.reserve(nodes.size() * 20 + visible.size() + 1);
  words.push_back(hazards_ignored);
  for (const Node& n : nodes) {
    words.push_back(uint32_t(n.op->index) << 8 | uint32_t(n.role));
    words.push_back(uint32_t(n.in.size()) << 16 | uint32_t(n.out.size()));  // many-tensor steps have hundreds
    auto add = [&](const Operand& o) {
      for (const int32_t word : {o.slot, o.layout, o.shape, o.extent, int32_t(o.dtype)}) words.push_back(uint32_t(word));
    };
    for (const Operand& o : n.in) add(o);
    for (const Operand& o : n.out) add(o);
  }
  for (bool v : visible) words.push_back(v);
  return words;
}

Ref<const Plan> PlanCache::find(const std::vector<uint32_t>& key) {
  const auto [first, last] = by_hash_.equal_range(hash_of(key));
  for (auto it = first; it != last; ++it)
    if (it->second->key == key) {
      recent_.splice(recent_.begin(), recent_, it->second);
      return it->second->plan;
    }
  return {};
}

void PlanCache::add(std::vector<uint32_t> key, Ref<const Plan> plan) {
  if (recent_.size() >= kCapacity) {
    const auto [first, last] = by_hash_.equal_range(hash_of(recent_.back().key));
    for (auto it = first; it != last; ++it)
      if (it->second == std::prev(recent_.end())) {
        by_hash_.erase(it);
        break;
      }
    recent_.pop_back();
  }
  const uint64_t hash = hash_of(key);
  recent_.push_front({std::move(key), std::move(plan)});
  by_hash_.emplace(hash, recent_.begin());
}

}  // namespace pyburn
