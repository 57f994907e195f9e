// Operation: an owned operation (tape, queue, graph, wire); OpRef, in op_info.h, is borrowed for a call.
#pragma once
#include "pyburn/ir/op_info.h"

namespace pyburn {

// Attributes on the heap (pooled), shared by copies of an Operation; immutable once shared.
class AttrBox final : public Counted {
 public:
  static Ref<AttrBox> copy(const AttrType&, const void* attrs);
  static Ref<AttrBox> fresh(const AttrType&);  // default-constructed, to be filled by a FieldEditor
  const AttrType& type() const { return type_; }
  void* get() const { return reinterpret_cast<std::byte*>(const_cast<AttrBox*>(this)) + header(); }

 private:
  explicit AttrBox(const AttrType& type) : type_(type) {}
  static constexpr size_t header() { return (sizeof(AttrBox) + 15) / 16 * 16; }
  static AttrBox* allocate(const AttrType&);
  void destroy() const noexcept override;
  const AttrType& type_;
};

class Operation {
 public:
  Operation() = default;
  explicit Operation(OpRef op) : info_(op.info), attrs_(AttrBox::copy(*op.info->attrs, op.attrs)) {}
  Operation(const OpInfo& info, Ref<AttrBox> attrs) : info_(&info), attrs_(std::move(attrs)) {}

  OpRef ref() const { return {info_, attrs_->get()}; }
  const OpInfo& info() const { return *info_; }
  const void* attrs() const { return attrs_->get(); }
  bool defined() const { return info_ != nullptr; }
  Operation edited(FieldEditor&) const;  // a modified copy
  bool operator==(const Operation& o) const { return info_ == o.info_ && (attrs_ == o.attrs_ || info_->attrs->equal(attrs(), o.attrs())); }

 private:
  const OpInfo* info_ = nullptr;
  Ref<AttrBox> attrs_;
};

uint64_t hash(OpRef);
std::string to_text(OpRef);  // "sum(dim=(0, 2), keepdim=False, result=float32)"

}  // namespace pyburn
