// Adapters between layouts of files and models, and changes of names.
#include <map>
#include <regex>
#include <set>

#include "pyburn/io/store.h"
#include "pyburn/ops/generated/copy.h"
#include "pyburn/ops/generated/movement.h"
#include "pyburn/support/error.h"

namespace pyburn::io {
namespace {

constexpr size_t kLongestName = 1000;  // std::regex recurses: names of files must not decide how deep

bool is_normalisation(const std::string& type) {
  for (const char* prefix : {"BatchNorm", "LayerNorm", "GroupNorm", "InstanceNorm", "RMSNorm"})
    if (type.starts_with(prefix)) return true;
  return false;
}

Snapshot transposed(Snapshot s) {
  std::swap(s.meta.shape[0], s.meta.shape[1]);
  s.load = [load = std::move(s.load)](Device& device) { return fn::contiguous(fn::transpose(load(device), 0, 1)); };
  return s;
}

Snapshot transposed_if_linear(Snapshot s, const Place& place) {
  const bool weight = (place.module_type == "Linear" || place.module_type == "NonDynamicallyQuantizableLinear") && place.name == "weight" &&
                      s.meta.shape.rank() == 2;
  return weight ? transposed(std::move(s)) : s;
}

Snapshot cast_to(Snapshot s, DType dtype) {
  if (!is_floating(s.meta.dtype) || s.meta.dtype == dtype) return s;
  s.meta.dtype = dtype;
  s.load = [load = std::move(s.load), dtype](Device& device) { return fn::cast(load(device), dtype); };
  return s;
}

// "a.0.b" -> ("", "a"), ("a.", "0"), ("a.0.", "b")
std::vector<std::pair<std::string, std::string>> parts_of(const std::string& name) {
  std::vector<std::pair<std::string, std::string>> parts;
  for (size_t start = 0; start <= name.size();) {
    const size_t dot = std::min(name.find('.', start), name.size());
    parts.emplace_back(name.substr(0, start), name.substr(start, dot - start));
    start = dot + 1;
  }
  return parts;
}
bool is_index(const std::string& part) {
  constexpr size_t kMostDigits = 9;
  return !part.empty() && part.size() <= kMostDigits && part.find_first_not_of("0123456789") == part.npos;
}

std::regex compiled(const std::string& pattern) {
  try {
    return std::regex(pattern);
  } catch (const std::regex_error& e) {
    fail<ValueError>("[store] invalid regular expression: got '{}' ({})", pattern, e.what());
  }
}

}  // namespace

std::function<std::string(const std::string&)> contiguous_indices(const std::vector<std::string>& names) {
  std::map<std::string, std::set<int64_t>> used;  // by the text before the number
  for (const std::string& name : names)
    for (const auto& [before, part] : parts_of(name))
      if (is_index(part)) used[before].insert(std::stoll(part));
  return [used = std::move(used)](const std::string& name) {
    std::string result;
    for (const auto& [before, part] : parts_of(name)) {
      const auto it = is_index(part) ? used.find(before) : used.end();
      const auto number = it == used.end() ? std::set<int64_t>::const_iterator() : it->second.find(std::stoll(part));
      const bool known = it != used.end() && number != it->second.end();
      result += (result.empty() ? "" : ".") + (known ? std::to_string(std::distance(it->second.begin(), number)) : part);
    }
    return result;
  };
}

Adapter burn_layout() {
  return {[](const Place& place) -> std::string {
            if (!is_normalisation(place.module_type)) return place.name;
            return place.name == "weight" ? "gamma" : place.name == "bias" ? "beta" : place.name;
          },
      transposed_if_linear, transposed_if_linear};
}

Adapter half_precision(DType dtype, std::vector<std::string> except) {
  require<DTypeError>(is_floating(dtype), "[store] expected a floating dtype: got {}", dtype);
  Adapter a;
  a.to_file = [dtype, except = std::move(except)](Snapshot s, const Place& place) {
    for (const std::string& prefix : except)
      if (place.module_type.starts_with(prefix)) return s;
    return cast_to(std::move(s), dtype);
  };
  return a;  // back: a model keeps its dtype
}

Adapter chain(Adapter first, Adapter second) {
  Adapter both;
  if (!first.file_name || !second.file_name) {
    both.file_name = first.file_name ? first.file_name : second.file_name;
  } else {
    both.file_name = [f = first.file_name, s = second.file_name](const Place& place) {
      return f({place.module, s(place), place.module_type});
    };
  }
  if (first.from_file || second.from_file)
    both.from_file = [f = first.from_file, s = second.from_file](Snapshot t, const Place& place) {
      if (f) t = f(std::move(t), place);
      return s ? s(std::move(t), place) : t;
    };
  if (first.to_file || second.to_file)
    both.to_file = [f = first.to_file, s = second.to_file](Snapshot t, const Place& place) {
      if (s) t = s(std::move(t), place);
      return f ? f(std::move(t), place) : t;
    };
  return both;
}

std::function<std::string(const std::string&)> rename_by_regex(std::vector<std::pair<std::string, std::string>> rules) {
  std::vector<std::pair<std::regex, std::string>> list;
  for (auto& [pattern, replacement] : rules) list.emplace_back(compiled(pattern), std::move(replacement));
  return [list = std::move(list)](const std::string& name) {
    if (name.size() > kLongestName) return name;
    std::string result = name;
    for (const auto& [pattern, replacement] : list) result = std::regex_replace(result, pattern, replacement);
    return result;
  };
}

std::function<bool(const std::string&)> match_regex(std::vector<std::string> patterns) {
  std::vector<std::regex> list;
  for (const std::string& p : patterns) list.push_back(compiled(p));
  return [list = std::move(list)](const std::string& name) {
    if (name.size() > kLongestName) return false;
    for (const std::regex& p : list)
      if (std::regex_search(name, p)) return true;
    return false;
  };
}

}  // namespace pyburn::io
