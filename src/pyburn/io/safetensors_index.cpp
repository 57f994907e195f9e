// Models in several safetensors files, with an index that names the file of each tensor.
#include <map>

#include "pyburn/io/atomic_file.h"
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

// An index may only name files beside it.
void check_file_name(const std::string& name) {
  const bool plain = !name.empty() && name != "." && name != ".." && name.find('/') == name.npos && name.find('\0') == name.npos;
  require<FormatError>(plain, "[safetensors] the index must name files beside it: got '{}'", name);
}

// model.safetensors.index.json -> model-00001-of-00003.safetensors
std::string shard_name(const fs::path& index, size_t i, size_t count) {
  std::string stem = index.filename().string();
  for (const char* end : {".json", ".index", ".safetensors"})
    if (stem.ends_with(end)) stem.resize(stem.size() - std::string_view(end).size());
  const auto digits = [](size_t v) {
    const std::string text = std::to_string(v);
    return std::string(text.size() < 5 ? 5 - text.size() : 0, '0') + text;
  };
  return stem + "-" + digits(i + 1) + "-of-" + digits(count) + ".safetensors";
}

}  // namespace

TensorFile open_safetensors_index(const fs::path& path, bool mmap) {
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
    if (fresh)
      for (Snapshot& t : SafetensorsReader(path.parent_path() / file).snapshots(mmap)) it->second.emplace(t.name, t);
    const auto found = it->second.find(name);
    require<FormatError>(
        found != it->second.end(), "[safetensors] the index says that '{}' is in '{}', which does not have it", name, file);
    result.tensors.push_back(found->second);
  }
  if (const auto metadata = root.find("metadata"); metadata != root.end() && metadata->is_object())
    for (const auto& [key, value] : metadata->items()) result.metadata[key] = value.is_string() ? value.get<std::string>() : value.dump();
  return result;
}

void save_safetensors_sharded(const Snapshots& tensors, const fs::path& path, uint64_t largest, const TextMap& metadata) {
  std::vector<Snapshots> shards(1);
  uint64_t used = 0, total = 0;
  for (const Snapshot& t : tensors) {
    const uint64_t bytes = size_in_bytes(t.meta, t.name);
    if (!shards.back().empty() && used + bytes > largest) shards.emplace_back(), used = 0;
    shards.back().push_back(t);
    used += bytes, total += bytes;
  }
  Json index = {{"metadata", metadata}, {"weight_map", Json::object()}};
  index["metadata"]["total_size"] = total;
  for (size_t i = 0; i < shards.size(); ++i) {
    const std::string name = shard_name(path, i, shards.size());
    for (const Snapshot& t : shards[i]) {
      require<ValueError>(!index["weight_map"].contains(t.name), "[safetensors] a name is used twice or reserved: got '{}'", t.name);
      index["weight_map"][t.name] = name;
    }
    atomic_write(path.parent_path() / name, [&](AtomicFile& file) { write_safetensors(shards[i], file, {{"format", "pt"}}); });
  }
  const std::string text = index.dump(2) + "\n";
  atomic_write(path, [&](AtomicFile& file) { file.write(std::as_bytes(std::span(text))); });
}

}  // namespace pyburn::io
