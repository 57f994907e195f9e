#include "pyburn/io/zip_read.h"

#include <algorithm>

#include "pyburn/io/byte_cursor.h"
#include "pyburn/io/crc32.h"
#include "pyburn/io/inflate.h"
#include "pyburn/io/zip_format.h"

namespace pyburn::io {
namespace {

using Bytes = std::span<const std::byte>;
using Entry = ZipReader::Entry;

ByteCursor cursor_at(Bytes file, uint64_t offset) {
  require<FormatError>(offset <= file.size(), "[zip] an offset is outside the file: got {} of {} bytes", offset, uint64_t(file.size()));
  return {file.subspan(size_t(offset)), "zip"};
}

struct Directory {
  uint64_t offset, bytes, entries;
};

Directory read_directory64(Bytes file, uint64_t end) {
  require<FormatError>(end >= zip::kEnd64LocatorBytes, "[zip] the end of the directory is damaged");
  ByteCursor locator = cursor_at(file, end - zip::kEnd64LocatorBytes);
  require<FormatError>(locator.number<uint32_t>() == zip::kEnd64Locator, "[zip] the end of the directory is damaged");
  locator.number<uint32_t>();
  ByteCursor c = cursor_at(file, locator.number<uint64_t>());
  require<FormatError>(c.number<uint32_t>() == zip::kEnd64, "[zip] the end of the directory is damaged");
  c.take(8 + 2 + 2);  // its own size, versions
  const auto disk = c.number<uint32_t>(), first_disk = c.number<uint32_t>();
  require<FormatError>(disk == 0 && first_disk == 0, "[zip] multi-part archives are not supported");
  c.take(8);
  const auto entries = c.number<uint64_t>(), bytes = c.number<uint64_t>(), offset = c.number<uint64_t>();
  return {offset, bytes, entries};
}

// The last thing in the file, before a comment of at most 65535 bytes.
Directory read_end(Bytes file) {
  for (uint64_t comment = 0; comment <= 0xffff && comment + zip::kEndBytes <= file.size(); ++comment) {
    const uint64_t at = file.size() - zip::kEndBytes - comment;
    ByteCursor c = cursor_at(file, at);
    if (c.number<uint32_t>() != zip::kEnd) continue;
    const auto disk = c.number<uint16_t>(), first_disk = c.number<uint16_t>();
    c.take(2);
    const auto entries = c.number<uint16_t>();
    const auto bytes = c.number<uint32_t>(), offset = c.number<uint32_t>();
    if (c.number<uint16_t>() != comment) continue;
    if (offset == zip::kIn64 || bytes == zip::kIn64 || entries == 0xffff) return read_directory64(file, at);
    require<FormatError>(disk == 0 && first_disk == 0, "[zip] multi-part archives are not supported");
    return {offset, bytes, entries};
  }
  fail<FormatError>("[zip] the file is truncated: it has no directory at its end");
}

// Numbers that did not fit the header, in this order, if they did not.
void read_extra64(ByteCursor extra, uint64_t& size, uint64_t& packed, uint64_t& offset) {
  while (extra.left() >= 4) {
    const auto id = extra.number<uint16_t>(), bytes = extra.number<uint16_t>();
    ByteCursor field(extra.take(bytes), "zip");
    if (id != zip::kExtra64) continue;
    for (uint64_t* v : {&size, &packed, &offset})
      if (*v == zip::kIn64) *v = field.number<uint64_t>();
  }
}

// `offset` of the result is that of the local header still.
Entry read_central(ByteCursor& c) {
  require<FormatError>(c.number<uint32_t>() == zip::kCentralHeader, "[zip] the directory is damaged");
  c.take(4);  // versions
  Entry e;
  const auto flags = c.number<uint16_t>(), method = c.number<uint16_t>();
  c.take(4);  // time
  e.crc = c.number<uint32_t>();
  e.packed = c.number<uint32_t>();
  e.size = c.number<uint32_t>();
  const auto name = c.number<uint16_t>(), extra = c.number<uint16_t>(), comment = c.number<uint16_t>();
  c.take(8);
  e.offset = c.number<uint32_t>();
  e.name = c.text(name);
  read_extra64({c.take(extra), "zip"}, e.size, e.packed, e.offset);
  c.take(comment);
  require<FormatError>(is_utf8(e.name), "[zip] the name of an entry is not valid UTF-8");
  require<FormatError>(!(flags & zip::kEncryptedFlag), "[zip] entry '{}' is encrypted", e.name);
  require<FormatError>(
      method == zip::kStored || method == zip::kDeflated, "[zip] entry '{}' has an unsupported compression method: got {}", e.name, method);
  e.deflated = method == zip::kDeflated;
  require<FormatError>(e.deflated || e.packed == e.size, "[zip] entry '{}' has two sizes: got {} and {}", e.name, e.packed, e.size);
  return e;
}

void find_data(Bytes file, Entry& e) {
  ByteCursor c = cursor_at(file, e.offset);
  require<FormatError>(c.number<uint32_t>() == zip::kLocalHeader, "[zip] entry '{}' is not where the directory says", e.name);
  c.take(22);  // already known from the directory
  const auto name = c.number<uint16_t>(), extra = c.number<uint16_t>();
  require<FormatError>(c.text(name) == e.name, "[zip] entry '{}' has two names", e.name);
  c.take(extra);
  require<FormatError>(
      e.packed <= c.left(), "[zip] entry '{}' is outside the file: got {} bytes of {}", e.name, e.packed, uint64_t(c.left()));
  e.offset += c.position();
}

}  // namespace

ZipReader::ZipReader(SharedBytes file) : file_(std::move(file)) {
  const Directory directory = read_end(file_.view());
  require<FormatError>(directory.entries <= directory.bytes / zip::kCentralBytes,
      "[zip] the directory is too short: got {} bytes for {} entries", directory.bytes, directory.entries);
  ByteCursor c(cursor_at(file_.view(), directory.offset).take(directory.bytes), "zip");
  for (uint64_t i = 0; i < directory.entries; ++i) {
    entries_.push_back(read_central(c));
    find_data(file_.view(), entries_.back());
  }
  std::stable_sort(entries_.begin(), entries_.end(), [](const Entry& a, const Entry& b) { return a.offset < b.offset; });
  uint64_t next = 0;
  for (const Entry& e : entries_) {
    require<FormatError>(e.offset >= next, "[zip] entry '{}' overlaps another entry", e.name);
    next = e.offset + e.packed;
    require<FormatError>(by_name_.emplace(e.name, by_name_.size()).second, "[zip] duplicate entry: got '{}'", e.name);
  }
}

const Entry* ZipReader::find(std::string_view name) const {
  const auto it = by_name_.find(name);
  return it == by_name_.end() ? nullptr : &entries_[it->second];
}

SharedBytes ZipReader::read(const Entry& e, bool verify) const {
  const SharedBytes packed = file_.part(size_t(e.offset), size_t(e.packed));
  const SharedBytes data = e.deflated ? SharedBytes::of(inflate(packed.view(), size_t(e.size))) : packed;
  require<FormatError>(!verify || crc32(data.view()) == e.crc, "[zip] entry '{}' is damaged: its checksum does not match", e.name);
  return data;
}

}  // namespace pyburn::io
