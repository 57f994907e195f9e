// Reads zip files: stored and deflated entries, also of more than 4 GB. Files are untrusted; no byte belongs to two entries.
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
    uint64_t offset = 0, packed = 0, size = 0;  // where its data begins, bytes in the file, bytes unpacked
  };
  explicit ZipReader(SharedBytes file);
  static bool looks_like_one(const SharedBytes& file) { return file.starts_with("PK\3\4") || file.starts_with("PK\5\6"); }

  const std::vector<Entry>& entries() const { return entries_; }  // in the order of the data
  const Entry* find(std::string_view name) const;                 // null when there is none
  // A part of the file itself where the entry is stored. `verify` compares the checksum, which touches every byte.
  SharedBytes read(const Entry& entry, bool verify = true) const;

 private:
  SharedBytes file_;
  std::vector<Entry> entries_;
  std::map<std::string, size_t, std::less<>> by_name_;
};

}  // namespace pyburn::io
