#include "pyburn/onnx/standard_functions.h"

#include <map>

#include "pyburn/support/error.h"

namespace pyburn::onnx {

extern const unsigned char standard_function_bytes[];  // generated/standard_functions.cpp
extern const size_t standard_function_size;

namespace {

// For each name, by the version of the operator set in which the body came.
using Versions = std::map<int64_t, FunctionDef>;
using Key = std::pair<std::string, std::string>;

const std::map<Key, Versions, std::less<>>& table() {
  static const std::map<Key, Versions, std::less<>> all = [] {
    std::map<Key, Versions, std::less<>> made;
    const std::span<const unsigned char> bytes(standard_function_bytes, standard_function_size);
    for (FunctionDef& f : read_functions(io::SharedBytes::borrowed(std::as_bytes(bytes)))) {
      const int64_t since = std::stoll(f.overload);  // where the tool puts the version
      f.overload.clear();
      made[{f.domain, f.name}].emplace(since, std::move(f));
    }
    return made;
  }();
  return all;
}

}  // namespace

const FunctionDef* standard_function(std::string_view domain, std::string_view name, int64_t version) {
  const auto found = table().find(Key(domain, name));
  if (found == table().end()) return nullptr;
  const auto after = found->second.upper_bound(version);
  return after == found->second.begin() ? nullptr : &std::prev(after)->second;
}

}  // namespace pyburn::onnx
