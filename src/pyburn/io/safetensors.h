// The safetensors format: named tensors and text metadata in one file, or in several with an index. Files are untrusted;
// every size is checked before it is used, and whatever does not fit is a FormatError.
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
    std::optional<Float8> packed;  // what the elements are in the file, where they are bfloat16 here
  };
  explicit SafetensorsReader(const std::filesystem::path& path);  // maps the file: tensors are read when asked for
  explicit SafetensorsReader(SharedBytes bytes);

  const std::vector<Item>& items() const { return items_; }  // in the order of the data
  const TextMap& metadata() const { return metadata_; }
  // On the default device unless given. A copy, unless `mmap`: see SharedBytes::tensor.
  TensorHandle tensor(const Item& item, Device* device = nullptr, bool mmap = false) const;
  TensorHandle tensor(std::string_view name, Device* device = nullptr, bool mmap = false) const;  // ValueError when there is none
  Snapshots snapshots(bool mmap = false) const;

 private:
  SharedBytes part(const Item& item) const;
  SharedBytes file_;
  std::vector<Item> items_;
  TextMap metadata_;
};

// An index in JSON names the file of each tensor; the files, of any format, lie beside it.
TensorFile open_index(const std::filesystem::path& path, const OpenOptions& options = {});

TensorList load_safetensors(const std::filesystem::path& path, Device* device = nullptr);

// One tensor after another: no more than one is in memory that was not there before. ValueError when a name is used twice.
void write_safetensors(const Snapshots& tensors, ByteSink& sink, const TextMap& metadata = {});
// Atomic: a reader sees the old file or the new one.
void save_safetensors(const TensorList& tensors, const std::filesystem::path& path, const TextMap& metadata = {});
// `path` names the index, e.g. model.safetensors.index.json; files of at most `largest` bytes of tensors (or one tensor)
// are written beside it, then the index.
void save_safetensors_sharded(const Snapshots& tensors, const std::filesystem::path& path, uint64_t largest, const TextMap& metadata = {});

}  // namespace pyburn::io
