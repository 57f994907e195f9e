// The safetensors format: named tensors and text metadata in one file. Files are untrusted; every size is checked
// before it is used, and whatever does not fit is a FormatError.
#pragma once
#include <filesystem>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "pyburn/tensor/handle.h"

namespace pyburn::io {

class MappedFile;
using TensorList = std::vector<std::pair<std::string, TensorHandle>>;
using TextMap = std::map<std::string, std::string>;

class SafetensorsReader {
 public:
  struct Item {
    std::string name;
    Meta meta;
    std::span<const std::byte> bytes;
  };
  explicit SafetensorsReader(const std::filesystem::path& path);  // maps the file: tensors are read when asked for
  explicit SafetensorsReader(std::span<const std::byte> bytes);   // borrowed: must outlive the reader
  ~SafetensorsReader();

  const std::vector<Item>& items() const { return items_; }  // in the order of the data
  const TextMap& metadata() const { return metadata_; }
  TensorHandle tensor(const Item& item, Device* device = nullptr) const;       // a copy, on the default device unless given
  TensorHandle tensor(std::string_view name, Device* device = nullptr) const;  // ValueError when there is none

 private:
  void parse(std::span<const std::byte> bytes);
  std::unique_ptr<MappedFile> file_;
  std::vector<Item> items_;
  TextMap metadata_;
};

TensorList load_safetensors(const std::filesystem::path& path, Device* device = nullptr);
// Atomic: a reader sees the old file or the new one. ValueError when a name is used twice.
void save_safetensors(const TensorList& tensors, const std::filesystem::path& path, const TextMap& metadata = {});

}  // namespace pyburn::io
