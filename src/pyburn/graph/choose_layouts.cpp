#include "pyburn/graph/choose_layouts.h"

#include <numeric>

#include "pyburn/ops/conv.h"
#include "pyburn/ops/interpolate.h"
#include "pyburn/ops/pool.h"
#include "pyburn/support/checked.h"

namespace pyburn {
namespace {

using Role = LoweredSlot::Role;

bool is_image(const Shape& s) { return s.rank() == 4 && s[1] > 1 && s[2] * s[3] > 1; }

Layout channels_last(const Layout& l) {
  const Shape& s = l.shape;
  return {s, Dims{s[1] * s[2] * s[3], 1, s[1] * s[3], s[1]}, l.offset};
}

constexpr int64_t kFewChannels = 4;  // of a source: they would fill no vector

// What a convolution is to the choice.
enum class Convolution : uint8_t { none, depthwise, pointwise, other };

Convolution convolution_of(const LoweredNode& node) {
  if (&node.op.info() != &op::conv2d) return Convolution::none;
  const Conv& a = node.op.ref().as<Conv>();
  const Shape &x = node.in[0].layout.shape, &w = node.in[1].layout.shape;
  if (w[1] == 1 && w[0] == a.groups && x[1] == a.groups && a.groups > kFewChannels) return Convolution::depthwise;
  const bool one_tap = w[2] * w[3] == 1 && a.padding == Dims{0, 0};
  return one_tap && w[1] > kFewChannels ? Convolution::pointwise : Convolution::other;
}

class Chooser {
 public:
  explicit Chooser(LoweredProgram& program)
      : p_(program),
        parent_(program.slots.size()),
        shape_(program.slots.size()),
        flips_(program.slots.size()),
        fixed_(program.slots.size()) {
    std::iota(parent_.begin(), parent_.end(), 0);
  }

  void run() {
    for (size_t s = 0; s < p_.slots.size(); ++s) fixed_[s] = p_.slots[s].role != Role::made || p_.slots[s].dtype != DType::float32;
    for (const LoweredOperand& o : p_.outputs) fixed_[size_t(o.slot)] = true;
    for (const LoweredNode& n : p_.nodes) {
      for (const LoweredOperand& o : n.in) look_at(o, false);
      for (const LoweredOperand& o : n.out) look_at(o, true);
    }
    for (const LoweredNode& n : p_.nodes) connect(n);
    for (size_t s = 0; s < fixed_.size(); ++s)
      if (fixed_[s]) fixed_[root(int32_t(s))] = true;
    weigh();
    for (LoweredNode& n : p_.nodes) {
      for (LoweredOperand& o : n.in) flip(o);
      for (LoweredOperand& o : n.out) flip(o);
    }
  }

 private:
  size_t root(int32_t slot) {
    while (parent_[size_t(slot)] != slot) slot = parent_[size_t(slot)] = parent_[size_t(parent_[size_t(slot)])];
    return size_t(slot);
  }
  bool can_flip(const LoweredOperand& o) { return is_image(o.layout.shape) && !fixed_[root(o.slot)]; }

  // A slot whose elements are seen in one shape and in row-major order by all nodes that write it, or by those that read all of it.
  void look_at(const LoweredOperand& o, bool written) {
    if (o.slot < 0) return;
    const auto s = size_t(o.slot);
    const bool whole = o.layout.shape.rank() == 4 && o.layout.is_contiguous() && o.layout.offset == 0 &&
                       o.layout.shape.numel() == p_.slots[s].elements && o.dtype == p_.slots[s].dtype;
    if (!whole || (shape_[s].rank() == 4 && !(shape_[s] == o.layout.shape))) fixed_[s] = true;
    if (written || shape_[s].rank() != 4) shape_[s] = o.layout.shape;
  }

  // Images that a node reads and writes in one order; those of a node that supports row-major order only stay as they are.
  void connect(const LoweredNode& n) {
    const OpInfo& op = n.op.info();
    if (convolution_of(n) != Convolution::none) {
      for (int64_t i = 1; i < n.in.size(); ++i)
        if (n.in[i].slot >= 0) fixed_[size_t(n.in[i].slot)] = true;
      if (convolution_of(n) == Convolution::other && n.in[1].layout.shape[1] <= kFewChannels) fixed_[size_t(n.out[0].slot)] = true;
      return;
    }
    const bool whole_planes = &op == &op::avg_pool && n.out[0].layout.shape.rank() == 4 && !is_image(n.out[0].layout.shape);
    if (whole_planes || op.kind == Kind::reduce) return;  // their results have no order
    const bool resizes = &op == &op::resize_axis && n.op.ref().as<Resize>().dim >= 2;
    const bool any_order = op.kind == Kind::elementwise || &op == &op::max_pool || &op == &op::avg_pool || resizes;
    int32_t together = -1;
    for (const LoweredOperand& o : n.in) join(o, any_order, together);
    for (const LoweredOperand& o : n.out) join(o, any_order, together);
  }
  void join(const LoweredOperand& o, bool any_order, int32_t& together) {
    if (o.slot < 0) return;
    if (!any_order) {
      fixed_[size_t(o.slot)] = true;
      return;
    }
    if (!is_image(o.layout.shape) || o.layout.shape.numel() != p_.slots[size_t(o.slot)].elements) return;
    if (together >= 0) parent_[root(o.slot)] = int32_t(root(together));
    together = o.slot;
  }

  // Each convolution votes for the images that it reads and writes, in multiply-adds: what it gains or loses, roughly.
  void weigh() {
    constexpr int64_t kDepthwise = 16, kPointwise = 4, kOther = -1;
    std::vector<int64_t> votes(p_.slots.size());
    for (const LoweredNode& n : p_.nodes) {
      const Convolution kind = convolution_of(n);
      if (kind == Convolution::none) continue;
      const Shape& w = n.in[1].layout.shape;
      const int64_t work = int64_t(Checked(n.out[0].layout.shape.numel()) * w[1] * w[2] * w[3]) / 64;
      const int64_t vote = kind == Convolution::depthwise ? kDepthwise : kind == Convolution::pointwise ? kPointwise : kOther;
      for (const LoweredOperand& o : {n.in[0], n.out[0]})
        if (can_flip(o)) votes[root(o.slot)] += work * vote;
    }
    for (size_t s = 0; s < votes.size(); ++s) flips_[s] = votes[s] > 0;
  }

  void flip(LoweredOperand& o) {
    if (o.slot >= 0 && is_image(o.layout.shape) && flips_[root(o.slot)] && o.layout.is_contiguous()) o.layout = channels_last(o.layout);
  }

  LoweredProgram& p_;
  std::vector<int32_t> parent_;  // slots in one order, as a forest
  std::vector<Shape> shape_;     // per slot
  std::vector<bool> flips_;      // of roots
  std::vector<bool> fixed_;      // of slots, then of roots: keeps its order
};

}  // namespace

void choose_layouts(LoweredProgram& program) { Chooser(program).run(); }

}  // namespace pyburn
