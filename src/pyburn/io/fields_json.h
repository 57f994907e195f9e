// Converts structs with PB_FIELDS to JSON and back: the options of layers and models in files.
//
//   struct Encoder { int64_t width = 8; double dropout = 0; PB_FIELDS(width, dropout) };
//   struct Model { Encoder encoder; std::vector<Encoder> more; std::optional<int64_t> seed; PB_FIELDS(encoder, more, seed) };
//   const auto model = io::from_json<Model>(R"({"encoder": {"width": 16}, "seed": 3})");
//
// A field is a bool, a number, a string, a dtype, another attribute type, a struct with fields, a std::vector of these, or a std::optional
// (null if empty). An enumeration is a number, or a name if `names_of(Enumeration)` lists them in order. If a struct has `void check()
// const`, it is called after reading.
#pragma once
#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "pyburn/ir/fields.h"

namespace pyburn::io {

std::string fields_to_json(const AttrType& type, const void* fields, int indent = -1);  // of a struct whose type is known only at run time

namespace detail {

// Values are passed as text, so that this header does not include the JSON library. `path` names a value in messages:
// "encoder.width".
using JsonMembers = std::vector<std::pair<std::string, std::string>>;
std::string object_to_json(const JsonMembers& members, int indent = -1);
std::string list_to_json(const std::vector<std::string>& items);
JsonMembers members_of(std::string_view json, const std::string& path);
std::vector<std::string> items_of(std::string_view json, const std::string& path);
void refuse_unknown(const JsonMembers& members, const std::vector<std::string>& known, const std::string& path);
void check_range(bool fits, std::string_view json, const std::string& path);
int64_t place_of(std::string_view json, const std::vector<std::string_view>& names, const std::string& path);
template <class T>
std::string leaf_to_json(const T& v);
template <class T>
void leaf_from_json(T& v, std::string_view json, const std::string& path);

template <class T>
inline constexpr bool is_vector = false;
template <class T>
inline constexpr bool is_vector<std::vector<T>> = true;
template <class T>
inline constexpr bool is_optional = false;
template <class T>
inline constexpr bool is_optional<std::optional<T>> = true;
template <class T>
concept Struct = requires {
  T::field_names();
};
template <class T>
concept NamedEnum = std::is_enum_v<T> && requires(T v) {
  names_of(v);
};
template <class T>
concept PlainEnum = std::is_enum_v<T> && !std::is_same_v<T, DType>;

template <class T>
using LeafOf = std::conditional_t<std::is_base_of_v<Dims, T>, Dims,
    std::conditional_t<std::is_same_v<T, bool>, bool,
        std::conditional_t<std::is_integral_v<T> || PlainEnum<T>, int64_t, std::conditional_t<std::is_floating_point_v<T>, double, T>>>>;

// visit(name, field) for all fields except tensors, which are saved as tensors.
template <Struct A>
void each_json_field(A& a, auto visit) {
  std::string_view names = A::field_names();
  std::apply(
      [&](auto&... field) {
        const auto one = [&]<class F>(F& f) {
          const std::string name(pyburn::detail::next_name(names));
          if constexpr (!std::is_same_v<std::remove_const_t<F>, TensorHandle>) visit(name, f);
        };
        (one(field), ...);
      },
      a.fields());
}

template <class T>
std::string value_to_json(const T& v, int indent = -1) {
  if constexpr (Struct<T>) {
    JsonMembers members;
    each_json_field(v, [&](const std::string& name, const auto& field) { members.emplace_back(name, value_to_json(field)); });
    return object_to_json(members, indent);
  } else if constexpr (is_optional<T>) {
    return v ? value_to_json(*v) : "null";
  } else if constexpr (is_vector<T>) {
    std::vector<std::string> items;
    for (const auto& item : v) items.push_back(value_to_json(item));
    return list_to_json(items);
  } else if constexpr (NamedEnum<T>) {
    return leaf_to_json(std::string(names_of(v)[size_t(v)]));
  } else {
    return leaf_to_json(LeafOf<T>(v));
  }
}

template <class T>
void value_from_json(T& v, std::string_view json, const std::string& path) {
  if constexpr (Struct<T>) {
    const JsonMembers members = members_of(json, path);
    std::vector<std::string> known;
    each_json_field(v, [&](const std::string& name, auto& field) {
      known.push_back(name);
      for (const auto& [key, text] : members)
        if (key == name) value_from_json(field, text, path.empty() ? name : path + "." + name);
    });
    refuse_unknown(members, known, path);
    if constexpr (requires { v.check(); }) v.check();
  } else if constexpr (is_optional<T>) {
    if (json == "null") v.reset();
    else value_from_json(v.emplace(), json, path);
  } else if constexpr (is_vector<T>) {
    const std::vector<std::string> items = detail::items_of(json, path);
    v.assign(items.size(), {});
    for (size_t i = 0; i < items.size(); ++i) value_from_json(v[i], items[i], path + "[" + std::to_string(i) + "]");
  } else if constexpr (NamedEnum<T>) {
    const auto names = names_of(T{});
    v = T(place_of(json, {names.begin(), names.end()}, path));
  } else if constexpr (std::is_base_of_v<LeafOf<T>, T> || std::is_same_v<LeafOf<T>, T>) {
    leaf_from_json(static_cast<LeafOf<T>&>(v), json, path);
  } else {
    auto leaf = LeafOf<T>(v);
    leaf_from_json(leaf, json, path);
    if constexpr (std::is_integral_v<T>) check_range(std::in_range<T>(leaf), json, path);
    v = T(leaf);
  }
}

}  // namespace detail

template <class A>
std::string to_json(const A& a, int indent = -1) {
  return detail::value_to_json(a, indent);
}
// Absent keys leave their field unchanged. FormatError names the invalid field and the expected type, and suggests a name for an unknown
// key.
template <class A>
A from_json(std::string_view json) {
  A a;
  detail::value_from_json(a, json, "");
  return a;
}

}  // namespace pyburn::io
