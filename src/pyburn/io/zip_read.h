// Reads zip files: stored and deflated entries, also larger than 4 GB. Files are untrusted; entries must not overlap.
#pragma once
#include <map>
#include <string>
#include <vector>

#include "pyburn/io/shared_bytes.h"

namespace pyburn::io {

class ZipReader {
 public:
  struct Entry {
    std::string name;
    bool deflated = false;
    uint32_t crc = 0;
    uint64_t offset = 0, packed = 0, size = 0;  // offset of the data, compressed size, uncompressed size
  };
  explicit ZipReader(SharedBytes file);
  static bool looks_like_one(const SharedBytes& file) { return file.starts_with("PK\3\4") || file.starts_with("PK\5\6"); }

  const std::vector<Entry>& entries() const { return entries_; }  // in file order
  const Entry* find(std::string_view name) const;                 // null if there is none
  // A part of the file itself if the entry is stored. `verify` checks the checksum, which reads every byte.
  SharedBytes read(const Entry& entry, bool verify = true) const;

 private:
  SharedBytes file_;
  std::vector<Entry> entries_;
  std::map<std::string, size_t, std::less<>> by_name_;
};

}  // namespace pyburn::io
