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

class ToJson final : public FieldVisitor {
 public:
  void field(std::string_view name, bool v) override { put(name, v); }
  void field(std::string_view name, int64_t v) override { put(name, v); }
  void field(std::string_view name, double v) override { put(name, number(v)); }
  void field(std::string_view name, const std::string& v) override { put(name, v); }
  void field(std::string_view name, DType v) override { put(name, std::string(name_of(v))); }
  void field(std::string_view name, const Dims& v) override { put(name, std::vector<int64_t>(v.begin(), v.end())); }
  void field(std::string_view name, const Scalar& v) override { put(name, number(v)); }
  void field(std::string_view name, const std::optional<Scalar>& v) override { put(name, v ? number(*v) : Json(nullptr)); }
  void field(std::string_view name, const Ref<Graph>&) override {
    fail<ValueError>("[config] '{}' is a graph, which JSON cannot hold", name);
  }
  void field(std::string_view name, const Numbers& v) override {
    Json list = Json::array();
    for (double x : v) list.push_back(number(x));
    put(name, std::move(list));
  }
  using FieldVisitor::field;  // sizes, rules; tensors are saved as tensors
  Json root = Json::object();

 private:
  void put(std::string_view name, Json v) { root[std::string(name)] = std::move(v); }
};

class FromJson final : public FieldEditor {
 public:
  explicit FromJson(const Json& root) : root_(root) {}
  void field(std::string_view name, bool& v) override {
    if (const Json* j = get(name)) expect(j->is_boolean(), name, "true or false", *j), v = j->get<bool>();
  }
  void field(std::string_view name, int64_t& v) override {
    if (const Json* j = get(name)) v = integer(name, *j);
  }
  void field(std::string_view name, double& v) override {
    if (const Json* j = get(name)) v = real(name, *j);
  }
  void field(std::string_view name, std::string& v) override {
    if (const Json* j = get(name)) expect(j->is_string(), name, "a text", *j), v = j->get<std::string>();
  }
  void field(std::string_view name, DType& v) override {
    const Json* j = get(name);
    if (!j) return;
    bool known = false;
    for (int i = 0; i < kDTypes; ++i)
      if (j->is_string() && j->get<std::string>() == name_of(DType(i))) v = DType(i), known = true;
    expect(known, name, "the name of a dtype", *j);
  }
  void field(std::string_view name, Dims& v) override {
    const Json* j = get(name);
    if (!j) return;
    expect(j->is_array(), name, "a list of whole numbers", *j);
    v = Dims();
    for (const Json& item : *j) v.push_back(integer(name, item));
  }
  void field(std::string_view name, Scalar& v) override {
    if (const Json* j = get(name)) v = scalar(name, *j);
  }
  void field(std::string_view name, std::optional<Scalar>& v) override {
    const Json* j = get(name);
    if (!j) return;
    v = j->is_null() ? std::nullopt : std::optional<Scalar>(scalar(name, *j));
  }
  void field(std::string_view name, Ref<Graph>&) override { get(name); }
  void field(std::string_view name, SizesOrRule& v) override {
    const auto it = root_.find(std::string(name));
    if (it != root_.end() && it->is_string()) {
      v = {{}, it->get<std::string>()};
      known.emplace_back(name);
    } else {
      field(name, v.sizes);
    }
  }
  void field(std::string_view name, Numbers& v) override {
    const Json* j = get(name);
    if (!j) return;
    expect(j->is_array(), name, "a list of numbers", *j);
    v = Numbers();
    for (const Json& item : *j) v.push_back(real(name, item));
  }
  using FieldEditor::field;
  void field(std::string_view name, TensorHandle&) override { get(name); }  // tensors are saved as tensors

  std::vector<std::string> known;  // the fields that were asked for

 private:
  const Json* get(std::string_view name) {
    known.emplace_back(name);
    const auto it = root_.find(known.back());
    return it == root_.end() ? nullptr : &*it;
  }
  static void expect(bool ok, std::string_view name, const char* what, const Json& got) {
    require<FormatError>(ok, "[config] '{}' must be {}: got {}", name, what, short_text(got));
  }
  static int64_t integer(std::string_view name, const Json& j) {
    const bool fits = j.is_number_integer() && !(j.is_number_unsigned() && j.get<uint64_t>() > uint64_t(INT64_MAX));
    expect(fits, name, "a whole number", j);
    return j.get<int64_t>();
  }
  static double real(std::string_view name, const Json& j) {
    if (j.is_string())
      for (const auto& [text, v] :
          {std::pair("nan", double(NAN)), std::pair("inf", double(INFINITY)), std::pair("-inf", -double(INFINITY))})
        if (j.get<std::string>() == text) return v;
    expect(j.is_number(), name, "a number", j);
    return j.get<double>();
  }
  static Scalar scalar(std::string_view name, const Json& j) {
    if (j.is_boolean()) return j.get<bool>();
    if (j.is_number_integer()) return integer(name, j);
    return real(name, j);
  }
  const Json& root_;
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

void refuse_unknown_keys(const Json& root, const std::vector<std::string>& known) {
  for (const auto& field : root.items()) {
    if (std::find(known.begin(), known.end(), field.key()) != known.end()) continue;
    const std::string key = field.key().substr(0, 100);
    const auto best =
        std::min_element(known.begin(), known.end(), [&](const auto& a, const auto& b) { return distance(key, a) < distance(key, b); });
    const bool close = best != known.end() && distance(key, *best) <= 1 + best->size() / 3;
    fail<FormatError>("[config] there is no field '{}'{}", key, close ? "; did you mean '" + *best + "'?" : "");
  }
}

}  // namespace

std::string fields_to_json(const AttrType& type, const void* fields, int indent) {
  ToJson visitor;
  type.visit(fields, visitor);
  return dump_json(visitor.root, "config", indent);
}

void fields_from_json(const AttrType& type, void* fields, std::string_view json) {
  const Json root = parse_json(std::as_bytes(std::span(json)), kDeepestConfig, "config");
  require<FormatError>(root.is_object(), "[config] expected an object: got {}", short_text(root));
  FromJson editor(root);
  type.edit(fields, editor);
  refuse_unknown_keys(root, editor.known);
}

}  // namespace pyburn::io
