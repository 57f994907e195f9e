#include "pyburn/ir/operation.h"

#include <bit>
#include <cstring>

#include "pyburn/ir/graph.h"
#include "pyburn/support/format.h"

namespace pyburn {

AttrBox* AttrBox::allocate(const AttrType& type) { return new (pool_allocate(header() + type.size)) AttrBox(type); }

Ref<AttrBox> AttrBox::copy(const AttrType& type, const void* attrs) {
  AttrBox* box = allocate(type);
  type.copy(box->get(), attrs);
  return Ref<AttrBox>(box);
}

Ref<AttrBox> AttrBox::fresh(const AttrType& type) {
  AttrBox* box = allocate(type);
  type.construct(type, box->get());
  return Ref<AttrBox>(box);
}

void AttrBox::destroy() const noexcept {
  auto* self = const_cast<AttrBox*>(this);
  type_.destroy(self->get());
  const size_t bytes = header() + type_.size;
  self->~AttrBox();
  pool_free(self, bytes);
}

Operation Operation::edited(FieldEditor& editor) const {
  Ref<AttrBox> box = AttrBox::copy(*info_->attrs, attrs());
  info_->attrs->edit(box->get(), editor);
  return {*info_, std::move(box)};
}

namespace {

class Hasher final : public FieldVisitor {
 public:
  uint64_t value = 0xcbf29ce484222325u;
  void mix(uint64_t v) { value = (value ^ v) * 0x9e3779b97f4a7c15u + (value >> 29); }
  void field(std::string_view, bool v) override { mix(v); }
  void field(std::string_view, int64_t v) override { mix(uint64_t(v)); }
  void field(std::string_view, double v) override { mix(std::bit_cast<uint64_t>(v)); }
  void field(std::string_view, const std::string& v) override {
    for (char c : v) mix(uint8_t(c));
  }
  void field(std::string_view, DType v) override { mix(uint64_t(v)); }
  void field(std::string_view, const Dims& v) override {
    mix(uint64_t(v.size()));
    for (int64_t d : v) mix(uint64_t(d));
  }
  void field(std::string_view n, const Scalar& v) override {
    mix(uint64_t(v.kind()));
    v.is_floating() ? field(n, v.to_double()) : field(n, v.to_int());
  }
  void field(std::string_view n, const std::optional<Scalar>& v) override {
    mix(v.has_value());
    if (v) field(n, *v);
  }
  void field(std::string_view, const Ref<Graph>& v) override { mix(v ? hash(*v) : 0); }
  void field(std::string_view n, const Numbers& v) override {
    mix(uint64_t(v.size()));
    for (double d : v) field(n, d);
  }
  void optional(std::string_view, bool given) override { mix(given); }
};

class Printer final : public FieldVisitor {
 public:
  std::string text;
  void add(std::string_view name, const std::string& v) {
    if (!text.empty()) text += ", ";
    text += std::string(name) + "=" + v;
  }
  void field(std::string_view n, bool v) override { add(n, to_text(v)); }
  void field(std::string_view n, int64_t v) override { add(n, to_text(v)); }
  void field(std::string_view n, double v) override { add(n, to_text(v)); }
  void field(std::string_view n, const std::string& v) override { add(n, "'" + v + "'"); }
  void field(std::string_view n, DType v) override { add(n, to_text(v)); }
  void field(std::string_view n, const Dims& v) override { add(n, to_text(v)); }
  void field(std::string_view n, const Scalar& v) override { add(n, to_text(v)); }
  void field(std::string_view n, const std::optional<Scalar>& v) override { add(n, v ? to_text(*v) : "None"); }
  void field(std::string_view n, const Ref<Graph>& v) override {
    add(n, v ? format("graph of {} nodes", int64_t(v->nodes.size())) : "None");
  }
  void field(std::string_view n, const Numbers& v) override {
    std::string list;
    for (double d : v) list += (list.empty() ? "" : ", ") + to_text(d);
    add(n, "(" + list + (v.size() == 1 ? ",)" : ")"));
  }
  void optional(std::string_view n, bool given) override {
    if (!given) add(n, "None");
  }
};

}  // namespace

uint64_t hash(OpRef op) {
  Hasher h;
  h.mix(std::hash<std::string_view>{}(op.info->name()));
  op.info->attrs->visit(op.attrs, h);
  return h.value;
}

std::string to_text(OpRef op) {
  Printer p;
  op.info->attrs->visit(op.attrs, p);
  return std::string(op.info->name()) + "(" + p.text + ")";
}

}  // namespace pyburn
