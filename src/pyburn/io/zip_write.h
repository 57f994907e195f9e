// Writes zip files with stored (uncompressed) entries, one after another, of any size.
#pragma once
#include <string>
#include <vector>

#include "pyburn/io/byte_sink.h"

namespace pyburn::io {

class ZipWriter {
 public:
  explicit ZipWriter(ByteSink& sink) : sink_(sink) {}
  // The data begins at a multiple of `alignment`, so that it can be used in place.
  void add(const std::string& name, std::span<const std::byte> data, uint64_t alignment = 1);
  void add(const std::string& name, std::string_view text) { add(name, std::as_bytes(std::span(text))); }
  void finish();  // writes the directory

 private:
  struct Entry {
    std::string name;
    uint32_t crc;
    uint64_t size, offset;
  };
  void write(std::span<const std::byte> bytes);
  ByteSink& sink_;
  uint64_t position_ = 0;
  std::vector<Entry> entries_;
};

}  // namespace pyburn::io
