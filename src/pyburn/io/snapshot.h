// Named tensors that are read on demand. Readers produce them and writers consume them, so that files are converted, or loaded into a
// model, one tensor at a time.
#pragma once
#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "pyburn/io/shared_bytes.h"

namespace pyburn::io {

using TensorList = std::vector<std::pair<std::string, TensorHandle>>;
using TextMap = std::map<std::string, std::string>;

struct Snapshot {
  std::string name;
  Meta meta;
  std::function<TensorHandle(Device&)> load;  // FormatError if the file is damaged
};
using Snapshots = std::vector<Snapshot>;

Snapshot snapshot_of(std::string name, const TensorHandle& tensor);  // ValueError if undefined
Snapshots snapshots_of(const TensorList& tensors);
TensorList load_all(const Snapshots& snapshots, Device& device);

// Passes the elements of a tensor in contiguous order; without a copy if they already are.
void with_host_bytes(const TensorHandle& tensor, const std::function<void(std::span<const std::byte>)>& use);

struct OpenOptions {
  bool mmap = false;   // tensors refer to the mapped file if possible: see SharedBytes::tensor
  bool verify = true;  // verify checksums, in formats that have them
  std::string key;     // PyTorch files: the path of the dict of tensors, e.g. "model.state_dict"; empty if there is only one
};
// The tensors of a file in any supported format, detected from its contents.
struct TensorFile {
  Snapshots tensors;
  TextMap metadata;
  std::string format;  // "safetensors", "pytorch", "npy", "npz", "pyburn"
};
TensorFile open_tensors(const std::filesystem::path& path, const OpenOptions& options = {});
TensorFile open_tensors(SharedBytes bytes, const OpenOptions& options = {});
// The format of this name; "" detects it from the file name. ValueError if it is unknown.
void write_tensors(const Snapshots& tensors, const std::filesystem::path& path, const TextMap& metadata = {}, std::string format = {});

}  // namespace pyburn::io
