// The report of a load as text, with hints for what usually went wrong.
#include <algorithm>
#include <set>

#include "pyburn/io/store.h"
#include "pyburn/support/format.h"

namespace pyburn::io {
namespace {

constexpr size_t kMostLines = 20;

void add_lines(std::string& text, const char* title, std::vector<std::string> lines) {
  if (lines.empty()) return;
  text += format("{} ({}):\n", title, uint64_t(lines.size()));
  for (size_t i = 0; i < std::min(lines.size(), kMostLines); ++i) text += "  " + lines[i] + "\n";
  if (lines.size() > kMostLines) text += format("  ... and {} more\n", uint64_t(lines.size() - kMostLines));
}

std::vector<std::string> joined(const std::vector<std::pair<std::string, std::string>>& list, const char* between, const char* after) {
  std::vector<std::string> lines;
  for (const auto& [name, more] : list) lines.push_back(name + between + more + after);
  return lines;
}

// "module." where names of the file are those of the model behind it.
std::string surplus_prefix(const std::vector<std::string>& longer, const std::set<std::string>& shorter) {
  for (const std::string& name : longer)
    for (size_t dot = name.find('.'); dot != name.npos; dot = name.find('.', dot + 1))
      if (shorter.contains(name.substr(dot + 1))) return name.substr(0, dot + 1);
  return {};
}

void add_hints(std::string& text, const LoadReport& r) {
  std::set<std::string> missing, unused(r.unused.begin(), r.unused.end());
  std::vector<std::string> missing_names;
  for (const auto& [name, type] : r.missing) missing.insert(name), missing_names.push_back(name);
  if (const std::string prefix = surplus_prefix(r.unused, missing); !prefix.empty())
    text += "Hint: names in the file begin with '" + prefix + "'; rename them (rename={r'^" + prefix.substr(0, prefix.size() - 1) +
            "\\.': ''})\n";
  if (const std::string prefix = surplus_prefix(missing_names, unused); !prefix.empty())
    text += "Hint: names in the file lack '" + prefix + "'; rename them (rename={r'^': '" + prefix + "'})\n";
  const bool gamma = std::any_of(r.unused.begin(), r.unused.end(), [](const std::string& n) { return n.ends_with(".gamma"); });
  if (gamma) text += "Hint: the file seems to come from Burn; use the adapter for its layout\n";
}

}  // namespace

std::string to_text(const LoadReport& r) {
  std::string text = format("{} applied, {} missing, {} unused, {} skipped, {} errors\n", uint64_t(r.applied.size()),
      uint64_t(r.missing.size()), uint64_t(r.unused.size()), uint64_t(r.skipped.size()), uint64_t(r.errors.size()));
  add_lines(text, "Missing in the file", joined(r.missing, " (", ")"));
  add_lines(text, "Unused", r.unused);
  add_lines(text, "Errors", joined(r.errors, ": ", ""));
  add_hints(text, r);
  text.pop_back();
  return text;
}

}  // namespace pyburn::io
