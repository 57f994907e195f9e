// Models in several files, with an index that names the file of each tensor: safetensors, or PyTorch's from before them.
#include <map>

#include "pyburn/io/json_text.h"
#include "pyburn/io/safetensors.h"
#include "pyburn/support/error.h"

namespace pyburn::io {
namespace {

namespace fs = std::filesystem;

constexpr size_t kLargestIndex = 100'000'000;
constexpr int kDeepestIndex = 16;

Json parse_index(const SharedBytes& file) {
  require<FormatError>(file.size() <= kLargestIndex, "[safetensors] the index is too large: got {} bytes", uint64_t(file.size()));
  return parse_json(file.view(), kDeepestIndex, "safetensors");
}

// An index may only name files beside it, and no other index, which might name this one.
void check_file_name(const std::string& name) {
  const bool plain = !name.empty() && name != "." && name != ".." && name.find('/') == name.npos && name.find('\0') == name.npos &&
                     !name.ends_with(".index.json");
  require<FormatError>(plain, "[safetensors] the index must name files beside it: got '{}'", name);
}

}  // namespace

TensorFile open_index(const fs::path& path, const OpenOptions& options) {
  const Json root = parse_index(SharedBytes::of_file(path));
  const auto map = root.is_object() ? root.find("weight_map") : root.end();
  require<FormatError>(root.is_object() && map != root.end() && map->is_object(), "[safetensors] the index has no weight_map");
  std::map<std::string, std::map<std::string, Snapshot>> files;
  TensorFile result{{}, {}, "safetensors"};
  for (const auto& [name, value] : map->items()) {
    require<FormatError>(value.is_string(), "[safetensors] the index must name a file for '{}'", name);
    const auto file = value.get<std::string>();
    check_file_name(file);
    const auto [it, fresh] = files.try_emplace(file);
    if (fresh) {
      const TensorFile part = open_tensors(path.parent_path() / file, options);
      for (const Snapshot& t : part.tensors) it->second.emplace(t.name, t);
      result.format = part.format;
    }
    const auto found = it->second.find(name);
    require<FormatError>(found != it->second.end(), "[safetensors] the index refers to '{}' in '{}', which has no such tensor", name, file);
    result.tensors.push_back(found->second);
  }
  if (const auto metadata = root.find("metadata"); metadata != root.end() && metadata->is_object())
    for (const auto& [key, value] : metadata->items()) result.metadata[key] = value.is_string() ? value.get<std::string>() : value.dump();
  return result;
}

}  // namespace pyburn::io
