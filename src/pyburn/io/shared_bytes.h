// Bytes that are read in parts: a mapped file or a block of memory, kept alive while any part is in use.
#pragma once
#include <filesystem>
#include <memory>
#include <span>
#include <vector>

#include "pyburn/tensor/handle.h"

namespace pyburn::io {

class SharedBytes {
 public:
  SharedBytes() = default;
  static SharedBytes of_file(const std::filesystem::path& path);  // FileError
  static SharedBytes of(std::vector<std::byte> bytes);
  static SharedBytes borrowed(std::span<const std::byte> bytes);  // the caller keeps the memory alive

  std::span<const std::byte> view() const { return view_; }
  size_t size() const { return view_.size(); }
  SharedBytes part(size_t offset, size_t size) const;
  SharedBytes swapped(size_t width) const;  // a copy with the bytes of each element reversed: the other byte order
  bool starts_with(std::string_view text) const;
  bool is_mapped() const { return mapped_; }
  const std::shared_ptr<const void>& owner() const { return owner_; }  // keeps the bytes alive

  // For a mapped file without writes: gives the memory back; the file is read again on access.
  void release_pages() const;

  // The elements of `meta` are stored here contiguously. Returns a tensor with a copy of them or, with `alias`, one that refers to the
  // mapped file: pages are read on access, and writes stay in this process.
  TensorHandle tensor(const Meta& meta, Device& device, bool alias = false) const;

 private:
  std::shared_ptr<const void> owner_;
  std::span<const std::byte> view_;
  bool mapped_ = false;
};

// The number of bytes of such a tensor; FormatError on overflow. `what` names the tensor in messages.
uint64_t size_in_bytes(const Meta& meta, std::string_view what);

}  // namespace pyburn::io
