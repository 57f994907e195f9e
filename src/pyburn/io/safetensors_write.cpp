#include <algorithm>
#include <nlohmann/json.hpp>

#include "pyburn/io/atomic_file.h"
#include "pyburn/io/safetensors.h"
#include "pyburn/io/safetensors_dtypes.h"
#include "pyburn/runtime/transfer.h"
#include "pyburn/support/error.h"

namespace pyburn::io {
namespace {

using Json = nlohmann::ordered_json;

// Wide elements first, so that every tensor is aligned; then by name, so that equal models give equal files.
TensorList in_file_order(TensorList tensors) {
  std::stable_sort(tensors.begin(), tensors.end(), [](const auto& a, const auto& b) {
    const int64_t wide_a = size_of(a.second.dtype()), wide_b = size_of(b.second.dtype());
    return wide_a != wide_b ? wide_a > wide_b : a.first < b.first;
  });
  return tensors;
}

std::string header_of(const TensorList& tensors, const TextMap& metadata) {
  Json root = Json::object();
  if (!metadata.empty()) root["__metadata__"] = metadata;
  uint64_t offset = 0;
  for (const auto& [name, t] : tensors) {
    require<ValueError>(name != "__metadata__" && !root.contains(name), "[safetensors] a name is used twice or reserved: got '{}'", name);
    const uint64_t end = offset + uint64_t(t.numel() * size_of(t.dtype()));
    Json& item = root[name];
    item["dtype"] = safetensors_name(t.dtype());
    item["shape"] = std::vector<int64_t>(t.shape().begin(), t.shape().end());
    item["data_offsets"] = {offset, end};
    offset = end;
  }
  std::string text;
  try {
    text = root.dump();
  } catch (const Json::exception&) {
    fail<ValueError>("[safetensors] names and metadata must be valid UTF-8");
  }
  text.resize((text.size() + 7) / 8 * 8, ' ');
  return text;
}

}  // namespace

void save_safetensors(const TensorList& tensors, const std::filesystem::path& path, const TextMap& metadata) {
  for (const auto& [name, t] : tensors) require<ValueError>(t.defined(), "[safetensors] there is no tensor under '{}'", name);
  const TensorList ordered = in_file_order(tensors);
  const std::string header = header_of(ordered, metadata);
  atomic_write(path, [&](AtomicFile& file) {
    std::array<std::byte, 8> length;
    for (size_t i = 0; i < 8; ++i) length[i] = std::byte(uint64_t(header.size()) >> (8 * i) & 0xff);
    file.write(length);
    file.write(std::as_bytes(std::span(header)));
    std::vector<std::byte> host;
    for (const auto& [name, t] : ordered) {
      host.resize(size_t(t.numel() * size_of(t.dtype())));
      to_host(t, {host.data(), t.meta()});
      file.write(host);
    }
  });
}

}  // namespace pyburn::io
