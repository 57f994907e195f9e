#include "pyburn/io/fields_json.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "pyburn/io/json_text.h"
#include "pyburn/support/error.h"

namespace pyburn::io {
namespace {

constexpr int kDeepestConfig = 64;

// JSON has no infinity and no NaN: they are text.
Json number(double v) {
  if (std::isfinite(v)) return v;
  return std::isnan(v) ? "nan" : v > 0 ? "inf" : "-inf";
}
Json number(const Scalar& s) {
  if (s.is_floating()) return number(s.to_double());
  if (s.kind() == Scalar::Kind::boolean) return s.to<bool>();
  return s.to_int();
}

Json json_of(bool v) { return v; }
Json json_of(int64_t v) { return v; }
Json json_of(double v) { return number(v); }
Json json_of(const std::string& v) { return v; }
Json json_of(DType v) { return std::string(name_of(v)); }
Json json_of(const Dims& v) { return std::vector<int64_t>(v.begin(), v.end()); }
Json json_of(const Scalar& v) { return number(v); }
Json json_of(const SizesOrRule& v) { return v.rule.empty() ? json_of(v.sizes) : Json(v.rule); }
Json json_of(const Numbers& v) {
  Json list = Json::array();
  for (double x : v) list.push_back(number(x));
  return list;
}

void expect(bool ok, std::string_view name, const char* what, const Json& got) {
  require<FormatError>(ok, "[config] '{}' must be {}: got {}", name, what, short_text(got));
}
int64_t integer(std::string_view name, const Json& j) {
  const bool fits = j.is_number_integer() && !(j.is_number_unsigned() && j.get<uint64_t>() > uint64_t(INT64_MAX));
  expect(fits, name, "an integer", j);
  return j.get<int64_t>();
}
double real(std::string_view name, const Json& j) {
  if (j.is_string())
    for (const auto& [text, v] : {std::pair("nan", double(NAN)), std::pair("inf", double(INFINITY)), std::pair("-inf", -double(INFINITY))})
      if (j.get<std::string>() == text) return v;
  expect(j.is_number(), name, "a number", j);
  return j.get<double>();
}

void assign(std::string_view name, const Json& j, bool& v) { expect(j.is_boolean(), name, "true or false", j), v = j.get<bool>(); }
void assign(std::string_view name, const Json& j, int64_t& v) { v = integer(name, j); }
void assign(std::string_view name, const Json& j, double& v) { v = real(name, j); }
void assign(std::string_view name, const Json& j, std::string& v) { expect(j.is_string(), name, "a text", j), v = j.get<std::string>(); }
void assign(std::string_view name, const Json& j, DType& v) {
  const std::optional<DType> known = j.is_string() ? find_dtype(j.get<std::string>()) : std::nullopt;
  expect(known.has_value(), name, "the name of a dtype", j);
  v = *known;
}
void assign(std::string_view name, const Json& j, Dims& v) {
  expect(j.is_array(), name, "a list of integers", j);
  v = Dims();
  for (const Json& item : j) v.push_back(integer(name, item));
}
void assign(std::string_view name, const Json& j, Scalar& v) {
  if (j.is_boolean()) v = j.get<bool>();
  else if (j.is_number_integer()) v = integer(name, j);
  else v = real(name, j);
}
void assign(std::string_view name, const Json& j, SizesOrRule& v) {
  if (j.is_string()) v = {{}, j.get<std::string>()};
  else assign(name, j, v.sizes);
}
void assign(std::string_view name, const Json& j, Numbers& v) {
  expect(j.is_array(), name, "a list of numbers", j);
  v = Numbers();
  for (const Json& item : j) v.push_back(real(name, item));
}

class ToJson final : public FieldVisitor {
 public:
  void field(std::string_view name, bool v) override { put(name, json_of(v)); }
  void field(std::string_view name, int64_t v) override { put(name, json_of(v)); }
  void field(std::string_view name, double v) override { put(name, json_of(v)); }
  void field(std::string_view name, const std::string& v) override { put(name, json_of(v)); }
  void field(std::string_view name, DType v) override { put(name, json_of(v)); }
  void field(std::string_view name, const Dims& v) override { put(name, json_of(v)); }
  void field(std::string_view name, const Scalar& v) override { put(name, json_of(v)); }
  void field(std::string_view name, const std::optional<Scalar>& v) override { put(name, v ? json_of(*v) : Json(nullptr)); }
  void field(std::string_view name, const Ref<Graph>&) override {
    fail<ValueError>("[config] '{}' is a graph, which cannot be stored as JSON", name);
  }
  void field(std::string_view name, const Numbers& v) override { put(name, json_of(v)); }
  using FieldVisitor::field;  // sizes, rules; tensors are saved as tensors
  Json root = Json::object();

 private:
  void put(std::string_view name, Json v) { root[std::string(name)] = std::move(v); }
};

// How many letters to change, add or leave out.
size_t distance(std::string_view a, std::string_view b) {
  std::vector<size_t> row(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (size_t i = 0; i < a.size(); ++i) {
    size_t diagonal = row[0];
    row[0] = i + 1;
    for (size_t j = 0; j < b.size(); ++j) {
      const size_t replaced = diagonal + (a[i] != b[j]);
      diagonal = row[j + 1];
      row[j + 1] = std::min({replaced, row[j] + 1, diagonal + 1});
    }
  }
  return row.back();
}

void refuse_unknown_key(const std::string& whole, const std::vector<std::string>& known, const std::string& path) {
  if (std::find(known.begin(), known.end(), whole) != known.end()) return;
  const std::string key = whole.substr(0, 100);
  const auto best =
      std::min_element(known.begin(), known.end(), [&](const auto& a, const auto& b) { return distance(key, a) < distance(key, b); });
  const bool close = best != known.end() && distance(key, *best) <= 1 + best->size() / 3;
  fail<FormatError>(
      "[config] unknown field '{}'{}{}", key, path.empty() ? "" : " in '" + path + "'", close ? "; did you mean '" + *best + "'?" : "");
}

Json parsed(std::string_view json) { return parse_json(std::as_bytes(std::span(json)), kDeepestConfig, "config"); }

}  // namespace

std::string fields_to_json(const AttrType& type, const void* fields, int indent) {
  ToJson visitor;
  type.visit(fields, visitor);
  return dump_json(visitor.root, "config", indent);
}

namespace detail {

std::string object_to_json(const JsonMembers& members, int indent) {
  Json root = Json::object();
  for (const auto& [name, text] : members) root[name] = Json::parse(text);
  return dump_json(root, "config", indent);
}
std::string list_to_json(const std::vector<std::string>& items) {
  Json list = Json::array();
  for (const std::string& text : items) list.push_back(Json::parse(text));
  return dump_json(list, "config");
}

JsonMembers members_of(std::string_view json, const std::string& path) {
  const Json root = parsed(json);
  if (path.empty()) require<FormatError>(root.is_object(), "[config] expected an object: got {}", short_text(root));
  else expect(root.is_object(), path, "an object", root);
  JsonMembers members;
  for (const auto& field : root.items()) members.emplace_back(field.key(), dump_json(field.value(), "config"));
  return members;
}
std::vector<std::string> items_of(std::string_view json, const std::string& path) {
  const Json root = parsed(json);
  expect(root.is_array(), path, "a list", root);
  std::vector<std::string> items;
  for (const Json& item : root) items.push_back(dump_json(item, "config"));
  return items;
}

void refuse_unknown(const JsonMembers& members, const std::vector<std::string>& known, const std::string& path) {
  for (const auto& [name, text] : members) refuse_unknown_key(name, known, path);
}

void check_range(bool fits, std::string_view json, const std::string& path) {
  require<FormatError>(fits, "[config] '{}' is out of range: got {}", path, json);
}

int64_t place_of(std::string_view json, const std::vector<std::string_view>& names, const std::string& path) {
  const Json value = parsed(json);
  std::string all;
  for (size_t i = 0; i < names.size(); ++i) {
    if (value.is_string() && value.get<std::string>() == names[i]) return int64_t(i);
    all += (i ? ", " : "") + std::string(names[i]);
  }
  fail<FormatError>("[config] '{}' must be one of {}: got {}", path, all, short_text(value));
}

template <class T>
std::string leaf_to_json(const T& v) {
  return dump_json(json_of(v), "config");
}
template <class T>
void leaf_from_json(T& v, std::string_view json, const std::string& path) {
  assign(path, parsed(json), v);
}

template std::string leaf_to_json(const bool&);
template std::string leaf_to_json(const int64_t&);
template std::string leaf_to_json(const double&);
template std::string leaf_to_json(const std::string&);
template std::string leaf_to_json(const DType&);
template std::string leaf_to_json(const Dims&);
template std::string leaf_to_json(const Scalar&);
template std::string leaf_to_json(const SizesOrRule&);
template std::string leaf_to_json(const Numbers&);
template void leaf_from_json(bool&, std::string_view, const std::string&);
template void leaf_from_json(int64_t&, std::string_view, const std::string&);
template void leaf_from_json(double&, std::string_view, const std::string&);
template void leaf_from_json(std::string&, std::string_view, const std::string&);
template void leaf_from_json(DType&, std::string_view, const std::string&);
template void leaf_from_json(Dims&, std::string_view, const std::string&);
template void leaf_from_json(Scalar&, std::string_view, const std::string&);
template void leaf_from_json(SizesOrRule&, std::string_view, const std::string&);
template void leaf_from_json(Numbers&, std::string_view, const std::string&);

}  // namespace detail

}  // namespace pyburn::io
