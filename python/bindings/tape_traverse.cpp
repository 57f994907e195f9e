#include "tape_traverse.h"

#include <array>
#include <unordered_map>
#include <vector>

#include "tensor_sleep.h"

namespace pyburn::python {
namespace {

using namespace autograd;

std::atomic<int64_t> reachable{0};

// Which kinds of owners of an object a traversal represents.
enum Owners : uint8_t { object_in_python = 1, core = 2, all = 3 };

// Traverses the part of the tape that only the start keeps alive: an object is entered after all references to it were found. Objects with
// a Python object are shared with it: a traversal that found all other references represents the core alone.
class Walk final : public ReferenceVisitor {
 public:
  Walk(visitproc visit, void* arg) : visit_(visit), arg_(arg) {}

  // The start, of which the object that is traversed holds one reference.
  void begin(const TensorImpl* impl) { ready_.push_back({impl, Kind::tensor, impl->use_count() == 1 ? all : object_in_python}); }
  void begin(const Node* node) { ready_.push_back({node, Kind::node, node->use_count() == 1 ? all : object_in_python}); }

  void tensor(const TensorHandle& t) override {
    if (t.defined()) meet(t.impl(), Kind::tensor, t.impl()->py && !is_asleep(t.impl()->py));
  }
  void node(const Node& node) override { meet(&node, Kind::node, node.host_object != nullptr); }
  void box(const GradBox& box) override { meet(&box, Kind::box, false); }
  void host(const HostReferences& references) override { meet(&references, Kind::host, false); }

  int run() {
    while (!ready_.empty() && !stop_) {
      const Ready next = ready_.back();
      ready_.pop_back();
      owners_ = next.owners;
      enter(next);
    }
    return stop_;
  }

 private:
  enum class Kind : uint8_t { tensor, node, box, host };
  struct Ready {
    const Counted* object;
    Kind kind;
    Owners owners;
  };

  void meet(const Counted* object, Kind kind, bool in_python) {
    const uint32_t others = object->use_count() - (in_python ? 1 : 0);
    if (others == 1 && owners_ == all) return ready_.push_back({object, kind, in_python ? core : all});
    auto& met = met_[object];  // references, by kind of owner
    const auto complete = [&] { return uint8_t((met[0] == others) | (met[1] == others) << 1); };
    const uint8_t before = complete();
    met[0] += owners_ & object_in_python ? 1 : 0;
    met[1] += owners_ & core ? 1 : 0;
    const auto fresh = uint8_t(complete() & ~before);
    if (!fresh) return;
    if (!in_python) ready_.push_back({object, kind, Owners(fresh)});
    else if (complete() == all) ready_.push_back({object, kind, core});
  }

  void enter(const Ready& r) {
    switch (r.kind) {
      case Kind::tensor: {
        const auto* impl = static_cast<const TensorImpl*>(r.object);
        if (r.owners == all && is_asleep(impl->py)) visit_sleeper(impl->py);
        if (const auto* history = static_cast<const History*>(impl->autograd.get())) history->visit_references(*this);
        return;
      }
      case Kind::node:
        return static_cast<const Node*>(r.object)->visit_references(*this);
      case Kind::box:
        return tensor(static_cast<const GradBox*>(r.object)->grad);
      case Kind::host:
        return static_cast<const HostReferences*>(r.object)->visit_host(
            [](void* object, void* walk) { static_cast<Walk*>(walk)->visit(static_cast<PyObject*>(object)); }, this);
    }
  }
  void visit(PyObject* object) {  // that HeldByTape holds
    for (const Owners one : {object_in_python, core})
      if (owners_ & one && !stop_) stop_ = visit_(object, arg_);
  }
  void visit_sleeper(void* py) {
    PyObject* self = sleeper(py);
    stop_ = visit_(reinterpret_cast<PyObject*>(Py_TYPE(self)), arg_);
    if (PyObject* dict = reinterpret_cast<TensorObject*>(self)->dict; dict && !stop_) stop_ = visit_(dict, arg_);
  }

  visitproc visit_;
  void* arg_;
  int stop_ = 0;
  Owners owners_ = all;  // of what is being entered
  std::vector<Ready> ready_;
  std::unordered_map<const Counted*, std::array<uint32_t, 2>> met_;
};

// Where another thread is inside the core, tensors and the tape may change under the walk. Such threads need the GIL to come back, so the
// answer is the same for all of one collection.
bool may_traverse() { return reachable.load(std::memory_order_relaxed) > 0 && threads_without_gil.load() == 0; }

}  // namespace

HeldByTape::HeldByTape(PyObject* owned) : p_(owned) {
  Py_INCREF(p_);
  count_reachable_through_tape(1);
}
HeldByTape::~HeldByTape() {
  count_reachable_through_tape(-1);
  release_later(p_);
  release_later(p_);
}

void count_reachable_through_tape(int more) noexcept { reachable.fetch_add(more, std::memory_order_relaxed); }

int traverse_tensor(const TensorHandle& t, visitproc visit, void* arg) {
  if (!t.defined() || !t.impl()->autograd || !may_traverse()) return 0;
  Walk walk(visit, arg);
  walk.begin(t.impl());
  return walk.run();
}

int traverse_node(const Node& node, visitproc visit, void* arg) {
  if (!may_traverse()) return 0;
  Walk walk(visit, arg);
  walk.begin(&node);
  return walk.run();
}

int traverse_held(Inputs tensors, visitproc visit, void* arg) {
  if (tensors.empty() || !may_traverse()) return 0;
  Walk walk(visit, arg);
  for (const TensorHandle* t : tensors) walk.tensor(*t);
  return walk.run();
}

int traverse_held(const Node* node, const HostReferences* packed, visitproc visit, void* arg) {
  if (!may_traverse()) return 0;
  Walk walk(visit, arg);
  if (node) walk.node(*node);
  if (packed) walk.host(*packed);
  return walk.run();
}

}  // namespace pyburn::python
