// Bytes that are read in parts: a mapped file or a piece of memory, kept alive by whoever still reads some of it.
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
  static SharedBytes borrowed(std::span<const std::byte> bytes);  // the caller keeps them alive

  std::span<const std::byte> view() const { return view_; }
  size_t size() const { return view_.size(); }
  SharedBytes part(size_t offset, size_t size) const;
  SharedBytes swapped(size_t width) const;  // a copy with the bytes of each element backwards: the other byte order
  bool starts_with(std::string_view text) const;
  bool is_mapped() const { return mapped_; }

  // Of a mapped file to which nobody has written: memory is given back, and the file read again where it is touched.
  void release_pages() const;

  // The elements of `meta` lie here in plain order. A tensor with a copy of them; or, if `alias` asks for it, one that
  // lies in the mapped file itself: pages are read when touched, and what is written stays in this process.
  TensorHandle tensor(const Meta& meta, Device& device, bool alias = false) const;

 private:
  std::shared_ptr<const void> owner_;
  std::span<const std::byte> view_;
  bool mapped_ = false;
};

// The bytes of a tensor of this kind; FormatError where they cannot be counted. `what` names the tensor.
uint64_t size_in_bytes(const Meta& meta, std::string_view what);

}  // namespace pyburn::io
