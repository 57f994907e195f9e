#include "pyburn/decorators/autodiff/gradient_cycles.h"

#include <mutex>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "pyburn/decorators/autodiff/history.h"
#include "pyburn/support/fork_safe_mutex.h"

namespace pyburn::autograd {
namespace {

auto& mutex = *new ForkSafeMutex;  // leaves may die late
auto& noted = *new std::unordered_set<const AccumulateGrad*>;

// Counts the references between everything that some leaves keep alive. What has more references than were met is alive, and so is all that
// it reaches; a leaf that is not, is garbage.
class Survey final : public ReferenceVisitor {
 public:
  explicit Survey(const std::vector<const AccumulateGrad*>& leaves) {
    for (const AccumulateGrad* leaf : leaves) find({leaf, Kind::node});
    visit_all();
    marking_ = true;
    for (auto& [object, seen] : seen_)
      if (object->use_count() != seen.met) mark(object, seen);
    visit_all();
  }
  bool is_alive(const AccumulateGrad* leaf) const { return seen_.at(leaf).alive; }

  void tensor(const TensorHandle& t) override {
    if (t.defined()) meet({t.impl(), Kind::tensor});
  }
  void node(const Node& node) override { meet({&node, Kind::node}); }
  void box(const GradBox& box) override { meet({&box, Kind::box}); }
  void host(const HostReferences&) override {}  // objects held by the host have one more reference than this traversal sees

 private:
  enum class Kind : uint8_t { tensor, node, box };
  struct Object {
    const Counted* address;
    Kind kind;
  };
  struct Seen {
    Kind kind;
    uint32_t met = 0;  // references
    bool alive = false;
  };

  Seen& find(Object o) {
    const auto [place, fresh] = seen_.try_emplace(o.address, Seen{o.kind});
    if (fresh) todo_.push_back(o);
    return place->second;
  }
  void mark(const Counted* object, Seen& seen) {
    if (!std::exchange(seen.alive, true)) todo_.push_back({object, seen.kind});
  }
  void meet(Object o) {
    Seen& seen = find(o);
    marking_ ? mark(o.address, seen) : void(++seen.met);
  }
  void visit_all() {
    while (!todo_.empty()) {
      const Object o = todo_.back();
      todo_.pop_back();
      if (o.kind == Kind::node) static_cast<const Node*>(o.address)->visit_references(*this);
      else if (o.kind == Kind::box) tensor(static_cast<const GradBox*>(o.address)->grad);
      else if (const AutogradMeta* meta = static_cast<const TensorImpl*>(o.address)->autograd.get())
        static_cast<const History*>(meta)->visit_references(*this);
    }
  }

  bool marking_ = false;
  std::unordered_map<const Counted*, Seen> seen_;
  std::vector<Object> todo_;
};

bool has_cycle(const AccumulateGrad& leaf) {
  const History* h = history_of(leaf.leaf());
  return h && h->grad.defined() && h->grad.requires_grad();
}

}  // namespace

void note_gradient_cycle(AccumulateGrad& leaf) {
  std::lock_guard lock(mutex);
  noted.insert(&leaf);
  leaf.may_close_cycle = true;
}

void forget_gradient_cycle(const AccumulateGrad& leaf) noexcept {
  std::lock_guard lock(mutex);
  noted.erase(&leaf);
}

void free_gradient_cycles() {
  std::vector<const AccumulateGrad*> leaves;
  {
    std::lock_guard lock(mutex);
    std::erase_if(noted, [](const AccumulateGrad* leaf) { return !has_cycle(*leaf); });
    leaves.assign(noted.begin(), noted.end());
  }
  if (leaves.empty()) return;
  const Survey survey(leaves);
  Tensors garbage;
  for (const AccumulateGrad* leaf : leaves)
    if (!survey.is_alive(leaf)) garbage.push_back(std::move(history_of(leaf->leaf())->grad));
}

}  // namespace pyburn::autograd
