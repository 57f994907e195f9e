// PB_FIELDS lists the fields of an attribute struct once; equality, hash, printing, wire format and the Python view are derived from
// it.
#pragma once
#include <limits>
#include <optional>
#include <string>
#include <tuple>

#include "pyburn/support/ref.h"
#include "pyburn/tensor/dtype.h"
#include "pyburn/tensor/scalar.h"
#include "pyburn/tensor/shape.h"

#define PB_FIELDS(...)                                  \
  auto fields() const { return std::tie(__VA_ARGS__); } \
  auto fields() { return std::tie(__VA_ARGS__); }       \
  static constexpr const char* field_names() { return #__VA_ARGS__; }

namespace pyburn {

class Graph;
class TensorHandle;

// One number for all dimensions, or one per dimension, or none. Hosts show a single number as a number.
struct Sizes : Dims {
  static constexpr int64_t left_open = std::numeric_limits<int64_t>::min();  // an unspecified dimension
  using Dims::Dims;
  Sizes(const Dims& d) : Dims(d) {}
};
// Numbers, or the name of a rule that determines them: the padding of a convolution.
struct SizesOrRule {
  Dims sizes;
  std::string rule;  // empty: the sizes are used
  bool operator==(const SizesOrRule&) const = default;
};

// One call per field, in order. Enumerations are passed as int64_t.
class FieldVisitor {
 public:
  virtual ~FieldVisitor() = default;
  virtual void field(std::string_view name, bool v) = 0;
  virtual void field(std::string_view name, int64_t v) = 0;
  virtual void field(std::string_view name, double v) = 0;
  virtual void field(std::string_view name, const std::string& v) = 0;
  virtual void field(std::string_view name, DType v) = 0;
  virtual void field(std::string_view name, const Dims& v) = 0;
  virtual void field(std::string_view name, const Scalar& v) = 0;
  virtual void field(std::string_view name, const std::optional<Scalar>& v) = 0;
  virtual void field(std::string_view name, const Ref<Graph>& v) = 0;
  virtual void field(std::string_view name, const Sizes& v) { field(name, static_cast<const Dims&>(v)); }
  virtual void field(std::string_view name, const SizesOrRule& v) {
    if (v.rule.empty()) field(name, v.sizes);
    else field(name, v.rule);
  }
  virtual void field(std::string_view, const Numbers&) {}
  virtual void field(std::string_view, const TensorHandle&) {}  // an option of layers, never an attribute of an operation
  // Called before an optional field: does it have a value? If so, the value follows as a field with that name.
  virtual void optional(std::string_view name, bool given) { (void)name, (void)given; }
};

// As above, with mutable fields: for decoding, and patching sizes.
class FieldEditor {
 public:
  virtual ~FieldEditor() = default;
  virtual void field(std::string_view name, bool& v) = 0;
  virtual void field(std::string_view name, int64_t& v) = 0;
  virtual void field(std::string_view name, double& v) = 0;
  virtual void field(std::string_view name, std::string& v) = 0;
  virtual void field(std::string_view name, DType& v) = 0;
  virtual void field(std::string_view name, Dims& v) = 0;
  virtual void field(std::string_view name, Scalar& v) = 0;
  virtual void field(std::string_view name, std::optional<Scalar>& v) = 0;
  virtual void field(std::string_view name, Ref<Graph>& v) = 0;
  virtual void field(std::string_view name, Sizes& v) { field(name, static_cast<Dims&>(v)); }
  virtual void field(std::string_view name, SizesOrRule& v) { field(name, v.sizes); }
  virtual void field(std::string_view, Numbers&) {}
  virtual void field(std::string_view, TensorHandle&) {}
  // Should an optional field have a value? If so, it follows as a mutable field with that name.
  virtual bool optional(std::string_view name, bool given) { return (void)name, given; }
};

// Type-erased attributes: copies, compares and visits them without knowing the struct.
struct AttrType {
  uint32_t size, align;
  void (*construct)(const AttrType& type, void* at);  // the type itself is passed for attributes that only a schema describes
  void (*copy)(void* to, const void* from);
  void (*destroy)(void* at) noexcept;
  bool (*equal)(const void* a, const void* b);
  void (*visit)(const void* attrs, FieldVisitor&);
  void (*edit)(void* attrs, FieldEditor&);
};

namespace detail {

// "dim, keepdim, result" -> "dim", then "keepdim", ...
inline std::string_view next_name(std::string_view& names) {
  const size_t comma = names.find(',');
  const std::string_view name = names.substr(0, comma);
  names.remove_prefix(comma == names.npos ? names.size() : comma + 1);
  while (!names.empty() && names[0] == ' ') names.remove_prefix(1);
  return name;
}

template <class F>
inline constexpr bool is_optional = false;
template <class T>
inline constexpr bool is_optional<std::optional<T>> = !std::is_same_v<T, Scalar>;  // an optional number is a separate field

template <class F>
void visit_field(std::string_view name, const F& value, FieldVisitor& v) {
  if constexpr (is_optional<F>) {
    v.optional(name, value.has_value());
    if (value) visit_field(name, *value, v);
  } else if constexpr (std::is_enum_v<F> && !std::is_same_v<F, DType>) {
    v.field(name, int64_t(value));
  } else if constexpr (std::is_base_of_v<Dims, F> && !std::is_same_v<Sizes, F>) {
    v.field(name, static_cast<const Dims&>(value));
  } else {
    v.field(name, value);
  }
}

template <class F>
void edit_field(std::string_view name, F& value, FieldEditor& v) {
  if constexpr (is_optional<F>) {
    if (!v.optional(name, value.has_value())) return value.reset();
    if (!value) value.emplace();
    edit_field(name, *value, v);
  } else if constexpr (std::is_enum_v<F> && !std::is_same_v<F, DType>) {
    int64_t i = int64_t(value);
    v.field(name, i);
    value = F(i);
  } else if constexpr (std::is_base_of_v<Dims, F> && !std::is_same_v<Sizes, F>) {
    v.field(name, static_cast<Dims&>(value));
  } else {
    v.field(name, value);
  }
}

template <class A>
void visit_fields(const void* attrs, FieldVisitor& v) {
  std::string_view names = A::field_names();
  std::apply([&](const auto&... f) { (visit_field(next_name(names), f, v), ...); }, static_cast<const A*>(attrs)->fields());
}

template <class A>
void edit_fields(void* attrs, FieldEditor& v) {
  std::string_view names = A::field_names();
  std::apply([&](auto&... f) { (edit_field(next_name(names), f, v), ...); }, static_cast<A*>(attrs)->fields());
}

}  // namespace detail

template <class A>
inline constexpr AttrType attr_type = {
    sizeof(A),
    alignof(A),
    [](const AttrType&, void* at) { new (at) A(); },
    [](void* to, const void* from) { new (to) A(*static_cast<const A*>(from)); },
    [](void* at) noexcept { static_cast<A*>(at)->~A(); },
    [](const void* a, const void* b) { return static_cast<const A*>(a)->fields() == static_cast<const A*>(b)->fields(); },
    detail::visit_fields<A>,
    detail::edit_fields<A>,
};

struct NoAttrs {
  std::tuple<> fields() const { return {}; }
  static constexpr const char* field_names() { return ""; }
};

}  // namespace pyburn
