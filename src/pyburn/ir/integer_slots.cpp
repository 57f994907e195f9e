#include "pyburn/ir/integer_slots.h"

#include "pyburn/ir/graph.h"

namespace pyburn {
namespace {

// Calls visit(int64_t&) for each slot and leaves the rest alone.
template <class Visit>
class SlotEditor final : public FieldEditor {
 public:
  explicit SlotEditor(Visit visit) : visit_(visit) {}
  void field(std::string_view, bool&) override {}
  void field(std::string_view, int64_t& v) override { visit_(v); }
  void field(std::string_view, double&) override {}
  void field(std::string_view, std::string&) override {}
  void field(std::string_view, DType&) override {}
  void field(std::string_view, Dims& v) override {
    for (int64_t& d : v) visit_(d);
  }
  void field(std::string_view, Scalar& v) override {
    if (v.kind() != Scalar::Kind::integer) return;
    int64_t i = v.to_int();
    visit_(i);
    v = Scalar(i);
  }
  void field(std::string_view name, std::optional<Scalar>& v) override {
    if (v) field(name, *v);
  }
  void field(std::string_view, Ref<Graph>& v) override {
    if (!v) return;
    Ref<Graph> own = copy_of(*v);
    for (Meta& m : own->values)
      for (int64_t& d : m.shape) visit_(d);
    for (GraphNode& n : own->nodes) n.op = n.op.edited(*this);
    v = std::move(own);
  }

 private:
  Visit visit_;
};

template <class Visit>
Operation edited(const Operation& op, Visit visit) {
  SlotEditor<Visit> editor(visit);
  return op.edited(editor);
}

}  // namespace

Slots integer_slots(OpRef op) {
  Slots slots;
  edited(Operation(op), [&](int64_t& v) { slots.push_back(v); });
  return slots;
}

Operation with_integer_slots(const Operation& op, const Slots& slots) {
  return edited(op, [&, next = int64_t(0)](int64_t& v) mutable { v = slots[next++]; });
}

bool same_but_for_integers(const Operation& a, const Operation& b) {
  auto blank = [](int64_t& v) { v = 0; };
  return &a.info() == &b.info() && edited(a, blank) == edited(b, blank);
}

}  // namespace pyburn
