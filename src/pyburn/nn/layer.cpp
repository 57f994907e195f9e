#include "pyburn/nn/layer.h"

#include <algorithm>
#include <vector>

#include "pyburn/ir/operation.h"

namespace pyburn::nn {
namespace {

// "None", "3" or "(3, 4)"
std::string list_text(const auto& values, auto text) {
  if (values.empty()) return "None";
  if (values.size() == 1) return text(values[0]);
  std::string all;
  for (auto v : values) all += (all.empty() ? "(" : ", ") + text(v);
  return all + ")";
}

class Printer final : public FieldVisitor {
 public:
  void field(std::string_view name, bool v) override { add(name, pyburn::to_text(v)); }
  void field(std::string_view name, int64_t v) override { add(name, pyburn::to_text(v)); }
  void field(std::string_view name, double v) override { add(name, pyburn::to_text(v)); }
  void field(std::string_view name, const std::string& v) override { add(name, v); }
  void field(std::string_view name, DType v) override { add(name, pyburn::to_text(v)); }
  void field(std::string_view name, const Dims& v) override { add(name, pyburn::to_text(v)); }
  void field(std::string_view name, const Scalar& v) override { add(name, pyburn::to_text(v)); }
  void field(std::string_view name, const std::optional<Scalar>& v) override { add(name, v ? pyburn::to_text(*v) : "None"); }
  void field(std::string_view name, const Ref<Graph>&) override { add(name, "Graph"); }
  void field(std::string_view name, const Sizes& v) override {
    add(name, list_text(v, [](int64_t n) { return n == Sizes::left_open ? "None" : pyburn::to_text(n); }));
  }
  void field(std::string_view name, const SizesOrRule& v) override { add(name, v.rule.empty() ? pyburn::to_text(v.sizes) : v.rule); }
  void field(std::string_view name, const Numbers& v) override {
    add(name, list_text(v, [](double n) { return pyburn::to_text(n); }));
  }
  void field(std::string_view name, const TensorHandle& v) override { add(name, v.defined() ? "Tensor" : "None"); }

  std::vector<std::pair<std::string, std::string>> fields;

 private:
  void add(std::string_view name, std::string text) { fields.emplace_back(name, std::move(text)); }
};

Printer printed(const AttrType& type, const void* fields) {
  Printer p;
  type.visit(fields, p);
  return p;
}

}  // namespace

bool lists(const char* names, std::string_view name) {
  for (std::string_view rest = names; !rest.empty();)
    if (detail::next_name(rest) == name) return true;
  return false;
}

std::string config_text(AnyConfig config, LayerText style) {
  if (!style.printed) return {};
  const Printer values = printed(*config.type, config.fields);
  const Ref<AttrBox> box = AttrBox::fresh(*config.type);
  const Printer defaults = printed(*config.type, box->get());
  std::string text;
  for (int i = 0; i < int(values.fields.size()); ++i) {
    const auto& [name, value] = values.fields[size_t(i)];
    if (lists(style.hidden, name)) continue;
    if (i >= std::max(style.positional, style.always) && value == defaults.fields[size_t(i)].second) continue;
    const std::string shown = lists(style.quoted, name) ? "'" + value + "'" : value;
    text += (text.empty() ? "" : ", ") + (i < style.positional ? shown : name + "=" + shown);
  }
  return text;
}

}  // namespace pyburn::nn
