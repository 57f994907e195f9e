// The safetensors format: named tensors and text metadata in one file, or in several files with an index. Files are untrusted: every size
// is checked before use, and anything invalid is a FormatError.
#pragma once
#include "pyburn/io/float8.h"
#include "pyburn/io/snapshot.h"

namespace pyburn::io {

class ByteSink;

class SafetensorsReader {
 public:
  struct Item {
    std::string name;
    Meta meta;
    std::span<const std::byte> bytes;
    std::optional<Float8> packed;  // the dtype in the file, if the elements are loaded as bfloat16
  };
  explicit SafetensorsReader(const std::filesystem::path& path);  // maps the file; tensors are read on access
  explicit SafetensorsReader(SharedBytes bytes);

  const std::vector<Item>& items() const { return items_; }  // in file order
  const TextMap& metadata() const { return metadata_; }
  // On the default device unless given. A copy, unless `mmap` is set: see SharedBytes::tensor.
  TensorHandle tensor(const Item& item, Device* device = nullptr, bool mmap = false) const;
  TensorHandle tensor(std::string_view name, Device* device = nullptr, bool mmap = false) const;  // ValueError if there is none
  Snapshots snapshots(bool mmap = false) const;

 private:
  SharedBytes part(const Item& item) const;
  SharedBytes file_;
  std::vector<Item> items_;
  TextMap metadata_;
};

// A JSON index names the file of each tensor; the files, in any format, are in the same folder.
TensorFile open_index(const std::filesystem::path& path, const OpenOptions& options = {});

TensorList load_safetensors(const std::filesystem::path& path, Device* device = nullptr);

// Writes one tensor after another, so that at most one more is in memory. ValueError if a name is used twice.
void write_safetensors(const Snapshots& tensors, ByteSink& sink, const TextMap& metadata = {});
// Atomic: readers see the old file or the new one.
void save_safetensors(const TensorList& tensors, const std::filesystem::path& path, const TextMap& metadata = {});
// `path` names the index, e.g. model.safetensors.index.json. Files with at most `largest` bytes of tensors (or one tensor) are written to
// the same folder, then the index.
void save_safetensors_sharded(const Snapshots& tensors, const std::filesystem::path& path, uint64_t largest, const TextMap& metadata = {});

}  // namespace pyburn::io
