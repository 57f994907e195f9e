// Named tensors that may not have been read yet. Readers give them and writers take them, so that files pass from one
// format to another, or into a model, one tensor at a time.
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
  std::function<TensorHandle(Device&)> load;  // FormatError where the file turns out to be damaged
};
using Snapshots = std::vector<Snapshot>;

Snapshot snapshot_of(std::string name, const TensorHandle& tensor);  // ValueError when undefined
Snapshots snapshots_of(const TensorList& tensors);
TensorList load_all(const Snapshots& snapshots, Device& device);

// Gives the elements of a tensor in plain order; without a copy where they lie so already.
void with_host_bytes(const TensorHandle& tensor, const std::function<void(std::span<const std::byte>)>& use);

struct OpenOptions {
  bool mmap = false;   // tensors lie in the mapped file where they can: see SharedBytes::tensor
  bool verify = true;  // checksums, in formats that have them
  std::string key;     // PyTorch files: the dict of tensors inside, e.g. "model.state_dict"; the only one when empty
};
// The tensors of a file in any format known here, told apart by what it contains.
struct TensorFile {
  Snapshots tensors;
  TextMap metadata;
  std::string format;  // "safetensors", "pytorch", "npy", "npz", "pyburn"
};
TensorFile open_tensors(const std::filesystem::path& path, const OpenOptions& options = {});
TensorFile open_tensors(SharedBytes bytes, const OpenOptions& options = {});
// Format by name; "" takes it from the name of the file. ValueError where there is none of that name.
void write_tensors(const Snapshots& tensors, const std::filesystem::path& path, const TextMap& metadata = {}, std::string format = {});

}  // namespace pyburn::io
