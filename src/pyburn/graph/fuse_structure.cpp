// The structure of lowered nodes, plans by structure, and the bodies of fused steps.
#include <algorithm>

#include "pyburn/graph/fuse.h"
#include "pyburn/ops/conv.h"
#include "pyburn/ops/movement.h"
#include "pyburn/ops/reduce.h"
#include "pyburn/support/fault.h"

namespace pyburn {
namespace {

using Role = FuseStructure::Role;

// Equal things get equal numbers, in order of appearance. A program knows few distinct ones: a list is enough.
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

bool is_elementwise(const LoweredNode& node) {
  if (node.op.info().kind != Kind::elementwise || node.out.size() != 1 || node.in.empty()) return false;
  const LoweredOperand& out = node.out[0];
  for (const LoweredOperand& in : node.in) {
    if (in.slot < 0 || !(in.layout.shape == out.layout.shape)) return false;
    // Reads one part of a storage and writes another: no run can hold it.
    if (in.slot == out.slot && !(in.layout == out.layout)) return false;
  }
  return true;
}

// Over trailing axes, and of something.
bool may_end_run(const LoweredNode& node) {
  if (node.op.info().fusing != Fusing::ends) return false;
  const Shape& shape = node.in[0].layout.shape;
  const Dims& dim = node.op.ref().as<Reduce>().dim;
  for (int64_t i = 0; i < dim.size(); ++i)
    if (dim[i] != shape.rank() - dim.size() + i) return false;
  return node.in[0].dtype == node.out[0].dtype && node.in[0].slot != node.out[0].slot && shape.numel() > 0;
}

bool is_channels_last(const Layout& l) {
  const Shape& s = l.shape;
  return s.rank() == 4 && l.strides == Dims{s[1] * s[2] * s[3], 1, s[1] * s[3], s[1]};
}

// Into memory without holes, in row-major order or, images of a convolution, with channels last; from elsewhere.
bool may_begin_run(const LoweredNode& node) {
  if (node.op.info().fusing != Fusing::begins || !is_floating(node.out[0].dtype)) return false;
  for (const LoweredOperand& in : node.in)
    if (in.slot == node.out[0].slot) return false;
  const Layout& made = node.out[0].layout;
  return (made.is_contiguous() || (&node.op.info() == &op::conv2d && is_channels_last(made))) && made.shape.numel() > 0;
}

uint64_t hash_of(const std::vector<uint32_t>& words) {
  uint64_t h = 0xcbf29ce484222325u;
  for (uint32_t w : words) h = (h ^ w) * 0x9e3779b97f4a7c15u + (h >> 29);
  return h;
}

}  // namespace

FuseStructure describe(std::span<const LoweredNode> nodes, std::vector<bool> visible, bool fuses) {
  FuseStructure s;
  s.nodes.reserve(nodes.size());
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
  auto operand = [&](const LoweredOperand& o) -> FuseStructure::Operand {
    if (o.slot < 0) return {-1, -1, -1, -1, o.dtype};
    return {o.slot, layouts(o.layout), shapes(o.layout.shape), extent(o.layout), o.dtype};
  };
  auto role = [&](const LoweredNode& node) {
    if (!fuses) return Role::opaque;
    return is_elementwise(node)  ? Role::elementwise
           : may_end_run(node)   ? Role::reduction
           : may_begin_run(node) ? Role::product
                                 : Role::opaque;
  };
  for (const LoweredNode& node : nodes) {
    FuseStructure::Node& n = s.nodes.emplace_back();
    n.op = &node.op.info();
    n.role = role(node);
    for (const LoweredOperand& o : node.in) n.in.push_back(operand(o));
    for (const LoweredOperand& o : node.out) n.out.push_back(operand(o));
  }
  s.visible = std::move(visible);
  s.hazards_ignored = planted_fault == Fault::missing_flush;
  return s;
}

const LoweredOperand& operand_at(std::span<const LoweredNode> nodes, FusedStep::Place place) {
  const LoweredNode& node = nodes[size_t(place.node)];
  return place.input < 0 ? node.out[0] : node.in[place.input];
}

Ref<Graph> body_of(const FusedStep& step, std::span<const LoweredNode> nodes) {
  auto body = make_ref<Graph>();
  body->values.reserve(step.values.size());
  body->nodes.reserve(step.nodes.size());
  for (FusedStep::Place place : step.values) {
    const LoweredOperand& o = operand_at(nodes, place);
    body->add_value({o.layout.shape, o.dtype});
  }
  body->inputs = step.inputs;
  body->outputs = step.outputs;
  for (const FusedStep::Node& n : step.nodes) {
    GraphNode& node = body->nodes.emplace_back();
    if (n.view) {
      const View as{body->values[size_t(n.out)].shape};
      node.op = Operation(OpRef{&op::view, &as});
    } else {
      node.op = nodes[size_t(n.node)].op;
    }
    node.in.append(n.in.begin(), n.in.end());
    node.out.push_back(n.out);
  }
  return body;
}

std::vector<uint32_t> FuseStructure::key() const {
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
