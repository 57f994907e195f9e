// Module: how it is printed.
#include <algorithm>

#include "pyburn/nn/module.h"
#include "pyburn/nn/parametrize.h"
#include "pyburn/support/format.h"

namespace pyburn::nn {
namespace {

std::string indented(const std::string& text) {
  std::string out;
  for (char c : text) out += c == '\n' ? std::string("\n  ") : std::string(1, c);
  return out;
}

}  // namespace

std::string module_text(const std::string& type_name, const std::string& extra, const ChildTexts& children) {
  if (children.empty() && extra.find('\n') == extra.npos) return type_name + "(" + extra + ")";
  std::string out = type_name + "(\n";
  if (!extra.empty()) out += "  " + indented(extra) + "\n";
  for (const auto& [name, text] : children) out += "  (" + name + "): " + indented(text) + "\n";
  return out + ")";
}

ChildTexts repeats_folded(const ChildTexts& children) {
  ChildTexts folded;
  const auto place = [](size_t i) { return pyburn::to_text(int64_t(i)); };  // a list counts, also where a child has a name
  for (size_t first = 0, next; first < children.size(); first = next) {
    const std::string& text = children[first].second;
    for (next = first + 1; next < children.size() && children[next].second == text;) ++next;
    if (next == first + 1) folded.emplace_back(place(first), text);
    else folded.emplace_back(place(first) + "-" + place(next - 1), place(next - first) + " x " + text);
  }
  return folded;
}

std::string to_text(Module& module) {
  std::vector<const Module*> above;  // a module below itself would make the text endless
  auto text = [&](auto& self, Module& m) -> std::string {
    if (std::find(above.begin(), above.end(), &m) != above.end()) return "...";
    above.push_back(&m);
    ChildTexts children;
    for (const Entry& e : m.entries())
      if (e.kind == Entry::Kind::module) children.emplace_back(e.name, e.module ? self(self, *e.module) : "None");
    above.pop_back();
    const std::string type = !m.calls_host() && parametrize::is_parametrized(m) ? "Parametrized" + m.display_name() : m.display_name();
    return module_text(type, m.extra_repr(), m.folds_repeated_children() ? repeats_folded(children) : children);
  };
  return text(text, module);
}

}  // namespace pyburn::nn
