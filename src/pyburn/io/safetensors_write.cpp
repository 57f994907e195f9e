#include <algorithm>

#include "pyburn/io/atomic_file.h"
#include "pyburn/io/byte_builder.h"
#include "pyburn/io/json_text.h"
#include "pyburn/io/safetensors.h"
#include "pyburn/io/safetensors_dtypes.h"
#include "pyburn/runtime/device.h"
#include "pyburn/support/error.h"

namespace pyburn::io {
namespace {

namespace fs = std::filesystem;

// Wide elements first, so that every tensor is aligned; then by name, so that equal models give equal files.
Snapshots in_file_order(Snapshots tensors) {
  std::stable_sort(tensors.begin(), tensors.end(), [](const auto& a, const auto& b) {
    const int64_t wide_a = size_of(a.meta.dtype), wide_b = size_of(b.meta.dtype);
    return wide_a != wide_b ? wide_a > wide_b : a.name < b.name;
  });
  return tensors;
}

std::string header_of(const Snapshots& tensors, const TextMap& metadata) {
  Json root = Json::object();
  if (!metadata.empty()) root["__metadata__"] = metadata;
  uint64_t offset = 0;
  for (const auto& [name, meta, load] : tensors) {
    require<ValueError>(name != "__metadata__" && !root.contains(name), "[safetensors] duplicate or reserved name: got '{}'", name);
    const uint64_t end = offset + size_in_bytes(meta, name);
    Json& item = root[name];
    item["dtype"] = safetensors_name(meta.dtype);
    item["shape"] = std::vector<int64_t>(meta.shape.begin(), meta.shape.end());
    item["data_offsets"] = {offset, end};
    offset = end;
  }
  std::string text = dump_json(root, "safetensors");
  text.resize((text.size() + 7) / 8 * 8, ' ');
  return text;
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

void write_safetensors(const Snapshots& tensors, ByteSink& sink, const TextMap& metadata) {
  const Snapshots ordered = in_file_order(tensors);
  const std::string header = header_of(ordered, metadata);
  sink.write(ByteBuilder().number(uint64_t(header.size())).text(header).view());
  for (const Snapshot& t : ordered)
    with_host_bytes(t.load(device("ndarray")), [&](std::span<const std::byte> bytes) { sink.write(bytes); });
}

void save_safetensors(const TensorList& tensors, const std::filesystem::path& path, const TextMap& metadata) {
  const Snapshots list = snapshots_of(tensors);
  atomic_write(path, [&](AtomicFile& file) { write_safetensors(list, file, metadata); });
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
      require<ValueError>(!index["weight_map"].contains(t.name), "[safetensors] duplicate or reserved name: got '{}'", t.name);
      index["weight_map"][t.name] = name;
    }
    atomic_write(path.parent_path() / name, [&](AtomicFile& file) { write_safetensors(shards[i], file, {{"format", "pt"}}); });
  }
  const std::string text = index.dump(2) + "\n";
  atomic_write(path, [&](AtomicFile& file) { file.write(std::as_bytes(std::span(text))); });
}

}  // namespace pyburn::io
