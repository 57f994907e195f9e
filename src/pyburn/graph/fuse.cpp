#include "pyburn/graph/fuse.h"

#include <algorithm>

namespace pyburn {
namespace {

using Role = FuseStructure::Role;
using Operand = FuseStructure::Operand;

// What the open run does to a storage.
struct Access {
  int32_t run = -1;  // which run; older ones do not count
  int32_t layout = -1;
  bool mixed = false;  // it is read through several layouts
  bool written = false;
  int32_t writer = -1;  // the last node that writes it
};

class Cutter {
 public:
  explicit Cutter(const FuseStructure& all) : all_(all), access_(all.visible.size()), last_use_(all.visible.size(), -1) {
    for (int32_t i = 0; i < count(); ++i) for_each_slot(i, [&](int32_t slot) { last_use_[size_t(slot)] = i; });
  }

  Ref<const Plan> cut() {
    for (int32_t i = 0; i < count(); ++i) {
      const FuseStructure::Node& node = all_.nodes[size_t(i)];
      if (node.role == Role::elementwise) {
        if (begin_ >= 0 && shape_ < 0) follow_product(node);
        if (begin_ >= 0 && (node.out[0].shape != shape_ || breaks_rule(node))) close(i);
        if (begin_ < 0) open(i, node.out[0].shape);
        enter(i);
      } else if (node.role == Role::product) {
        close(i);
        open(i, -1);
        enter(i);
        for (const Operand& o : node.in)
          if (o.slot >= 0) access_[size_t(o.slot)].mixed = true;  // all of it is read at any time: not to be written
      } else if (node.role == Role::reduction && begin_ >= 0 && node.in[0].shape == shape_ && is_made_here(node.in[0]) &&
                 !breaks_rule(node) && access_[size_t(node.out[0].slot)].run != run_) {
        enter(i);
        close(i + 1);
      } else {
        close(i);
        Step step;
        step.node = i;
        finish(std::move(step), i, i + 1);
      }
    }
    close(count());
    return plan_;
  }

 private:
  int32_t count() const { return int32_t(all_.nodes.size()); }

  template <class F>
  void for_each_slot(int32_t node, F f) const {
    for (const Operand& o : all_.nodes[size_t(node)].in)
      if (o.slot >= 0) f(o.slot);
    for (const Operand& o : all_.nodes[size_t(node)].out) f(o.slot);
  }

  void open(int32_t node, int32_t shape) {
    begin_ = node;
    shape_ = shape;
    ++run_;
  }

  // The first node after a product: however it views the result, the run continues in the shape and layout of that node.
  void follow_product(const FuseStructure::Node& node) {
    const Operand& made = all_.nodes[size_t(begin_)].out[0];
    for (const Operand& o : node.in)
      if (o.slot == made.slot && o.dtype == made.dtype && (o.extent >= 0 ? o.extent == made.extent : o.layout == made.layout)) {
        shape_ = o.shape;
        access_[size_t(o.slot)].layout = product_layout_ = o.layout;
        return;
      }
  }

  bool is_made_here(const Operand& o) const {
    const Access& a = access_[size_t(o.slot)];
    return a.run == run_ && a.written && a.layout == o.layout;
  }

  bool breaks_rule(const FuseStructure::Node& node) const {
    if (all_.hazards_ignored) return false;
    for (const Operand& o : node.in) {
      const Access& a = access_[size_t(o.slot)];
      if (a.run == run_ && a.written && a.layout != o.layout) return true;
    }
    for (const Operand& o : node.out) {
      const Access& a = access_[size_t(o.slot)];
      if (a.run == run_ && (a.mixed || a.layout != o.layout)) return true;
    }
    return false;
  }

  void enter(int32_t i) {
    const FuseStructure::Node& node = all_.nodes[size_t(i)];
    for (const Operand& o : node.in)
      if (o.slot >= 0) touch(o);
    for (const Operand& o : node.out) {
      Access& a = touch(o);
      a.layout = o.layout;
      a.written = true;
      a.writer = i;
    }
  }
  Access& touch(const Operand& o) {
    Access& a = access_[size_t(o.slot)];
    if (a.run != run_) a = {.run = run_, .layout = o.layout};
    a.mixed |= a.layout != o.layout;
    return a;
  }

  // Ends the run before node `end` and decides what of it is needed.
  void close(int32_t end) {
    if (begin_ < 0) return;
    const std::vector<bool> needed = find_needed(end);
    Step step;
    const auto nodes = std::count(needed.begin(), needed.end(), true);
    if (nodes == 1) step.node = begin_ + int32_t(std::find(needed.begin(), needed.end(), true) - needed.begin());
    if (nodes > 1) step.fused = number(end, needed);
    finish(std::move(step), begin_, end);
    begin_ = -1;
  }

  // Will anybody look at what node i leaves in its output?
  bool is_stored(int32_t i, int32_t end) const {
    const int32_t slot = all_.nodes[size_t(i)].out[0].slot;
    return access_[size_t(slot)].writer == i && (all_.visible[size_t(slot)] || last_use_[size_t(slot)] >= end);
  }

  std::vector<bool> find_needed(int32_t end) {
    // Which node of the run made what an input reads; forwards, because a storage may be written several times.
    std::vector<SmallVector<int32_t, 3>> makers(size_t(end - begin_));
    std::vector<std::pair<int32_t, int32_t>> current(access_.size(), {-1, -1});  // per slot: node, layout
    auto layout_of = [&](const Operand& made, int32_t i) {                       // a product is seen as the rest of the run sees it
      return all_.nodes[size_t(i)].role == Role::product && shape_ >= 0 ? product_layout_ : made.layout;
    };
    for (int32_t i = begin_; i < end; ++i) {
      const FuseStructure::Node& node = all_.nodes[size_t(i)];
      for (const Operand& o : node.in) {
        if (o.slot < 0) continue;
        const auto [maker, layout] = current[size_t(o.slot)];
        makers[size_t(i - begin_)].push_back(layout == o.layout ? maker : -1);
      }
      current[size_t(node.out[0].slot)] = {i, layout_of(node.out[0], i)};
    }
    std::vector<bool> needed(size_t(end - begin_));
    for (int32_t i = end - 1; i >= begin_; --i) {
      if (is_stored(i, end)) needed[size_t(i - begin_)] = true;
      if (!needed[size_t(i - begin_)]) continue;
      for (int32_t maker : makers[size_t(i - begin_)])
        if (maker >= 0) needed[size_t(maker - begin_)] = true;
    }
    return needed;
  }

  // An operand that sees the result of the product as the run does.
  struct Seen {
    const Operand& operand;
    FusedStep::Place place;
  };
  Seen find_seen(int32_t end) const {
    const int32_t slot = all_.nodes[size_t(begin_)].out[0].slot;
    for (int32_t i = begin_ + 1; i < end; ++i) {
      const FuseStructure::Node& node = all_.nodes[size_t(i)];
      for (int32_t k = 0; k < int32_t(node.in.size()); ++k)
        if (node.in[k].slot == slot && node.in[k].layout == product_layout_) return {node.in[k], {i, k}};
    }
    return {all_.nodes[size_t(begin_)].out[0], {begin_, -1}};
  }

  std::unique_ptr<const FusedStep> number(int32_t end, const std::vector<bool>& needed) const {
    auto step = std::make_unique<FusedStep>();
    struct Known {
      int32_t slot, layout;
      ValueId value;
    };
    std::vector<Known> known;  // the latest entry of a place holds
    auto add_value = [&](const Operand& o, FusedStep::Place place) {
      step->values.push_back(place);
      known.push_back({o.slot, o.layout, ValueId(step->values.size()) - 1});
      return known.back().value;
    };
    for (int32_t i = begin_; i < end; ++i) {
      if (!needed[size_t(i - begin_)]) continue;
      const FuseStructure::Node& node = all_.nodes[size_t(i)];
      FusedStep::Node fused{.node = i, .in = {}, .out = -1};
      for (int32_t k = 0; k < int32_t(node.in.size()); ++k) {
        const Operand& o = node.in[k];
        if (o.slot < 0) {
          fused.in.push_back(-1);
          continue;
        }
        const auto it =
            std::find_if(known.rbegin(), known.rend(), [&](const Known& v) { return v.slot == o.slot && v.layout == o.layout; });
        if (it != known.rend()) {
          fused.in.push_back(it->value);
        } else {
          fused.in.push_back(add_value(o, {i, k}));
          step->inputs.push_back(fused.in.back());
        }
      }
      fused.out = add_value(node.out[0], {i, -1});
      if (node.role == Role::product && node.out[0].layout != product_layout_) {  // the rest of the run sees another shape
        const Seen seen = find_seen(end);
        FusedStep::Node view{.node = i, .in = {fused.out}, .out = -1, .view = true};
        step->nodes.push_back(std::move(fused));
        view.out = add_value(seen.operand, seen.place);
        fused = std::move(view);
      }
      if (is_stored(i, end)) step->outputs.push_back(fused.out);
      step->nodes.push_back(std::move(fused));
    }
    return step;
  }

  void finish(Step step, int32_t begin, int32_t end) {
    for (int32_t i = begin; i < end; ++i)
      for_each_slot(i, [&](int32_t slot) {
        if (last_use_[size_t(slot)] == i && std::find(step.releases.begin(), step.releases.end(), slot) == step.releases.end())
          step.releases.push_back(slot);
      });
    plan_->steps.push_back(std::move(step));
  }

  const FuseStructure& all_;
  std::vector<Access> access_;     // per slot
  std::vector<int32_t> last_use_;  // per slot: the last node that uses it
  int32_t run_ = -1, begin_ = -1;  // the open run; begin -1: none
  int32_t shape_ = -1;             // -1: the run is a product so far
  int32_t product_layout_ = -1;    // of its result, as the run sees it
  Ref<Plan> plan_ = make_ref<Plan>();
};

}  // namespace

Ref<const Plan> fuse(const FuseStructure& nodes) { return Cutter(nodes).cut(); }

}  // namespace pyburn
