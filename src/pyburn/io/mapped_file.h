// A memory-mapped file. Written pages become private copies: the file never changes.
#pragma once
#include <filesystem>
#include <span>

namespace pyburn::io {

class MappedFile {
 public:
  explicit MappedFile(const std::filesystem::path& path);  // FileError
  ~MappedFile();
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;
  std::span<const std::byte> bytes() const { return {static_cast<const std::byte*>(data_), size_}; }

 private:
  void* data_ = nullptr;
  size_t size_ = 0;
};

}  // namespace pyburn::io
