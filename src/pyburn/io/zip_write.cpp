#include "pyburn/io/zip_write.h"

#include "pyburn/io/byte_builder.h"
#include "pyburn/io/crc32.h"
#include "pyburn/io/zip_format.h"
#include "pyburn/support/error.h"

namespace pyburn::io {
namespace {

constexpr uint16_t kVersion = 20, kVersion64 = 45;
constexpr uint32_t kTime = 0x00210000;  // 1 January 1980: equal contents give equal files

uint32_t short_form(uint64_t v) { return v >= zip::kIn64 ? zip::kIn64 : uint32_t(v); }

// From the version on, local and central headers are alike up to the lengths of name and extra fields.
void shared_fields(ByteBuilder& b, bool in64, uint32_t crc, uint64_t size, size_t name, size_t extra) {
  b.number(in64 ? kVersion64 : kVersion).number(zip::kUtf8Flag).number(zip::kStored).number(kTime).number(crc);
  b.number(short_form(size)).number(short_form(size)).number(uint16_t(name)).number(uint16_t(extra));
}

}  // namespace

void ZipWriter::write(std::span<const std::byte> bytes) {
  sink_.write(bytes);
  position_ += bytes.size();
}

void ZipWriter::add(const std::string& name, std::span<const std::byte> data, uint64_t alignment) {
  require<ValueError>(name.size() < 0xffff, "[zip] the name of an entry is too long: got {} bytes", uint64_t(name.size()));
  const uint64_t size = data.size();
  ByteBuilder extra;
  if (size >= zip::kIn64) extra.number(zip::kExtra64).number(uint16_t(16)).number(size).number(size);
  if (alignment > 1) {
    const uint64_t start = position_ + zip::kLocalBytes + name.size() + extra.size() + 4;
    const uint64_t padding = (alignment - start % alignment) % alignment;
    extra.number(zip::kExtraPadding).number(uint16_t(padding)).zeros(size_t(padding));
  }
  const Entry e{name, crc32(data), size, position_};
  ByteBuilder header;
  header.number(zip::kLocalHeader);
  shared_fields(header, size >= zip::kIn64, e.crc, size, name.size(), extra.size());
  header.text(name).bytes(extra.view());
  write(header.view());
  write(data);
  entries_.push_back(e);
}

void ZipWriter::finish() {
  const uint64_t start = position_;
  for (const Entry& e : entries_) {
    ByteBuilder extra;
    if (e.size >= zip::kIn64) extra.number(e.size).number(e.size);
    if (e.offset >= zip::kIn64) extra.number(e.offset);
    ByteBuilder field;
    if (extra.size() > 0) field.number(zip::kExtra64).number(uint16_t(extra.size())).bytes(extra.view());
    ByteBuilder header;
    header.number(zip::kCentralHeader).number(kVersion64);
    shared_fields(header, extra.size() > 0, e.crc, e.size, e.name.size(), field.size());
    header.number(uint16_t(0)).number(uint16_t(0)).number(uint16_t(0)).number(uint32_t(0));  // comment, disk, attributes
    header.number(short_form(e.offset)).text(e.name).bytes(field.view());
    write(header.view());
  }
  const uint64_t bytes = position_ - start, count = entries_.size(), end64 = position_;
  ByteBuilder end;
  if (count >= 0xffff || start >= zip::kIn64 || bytes >= zip::kIn64) {
    end.number(zip::kEnd64).number(uint64_t(zip::kEnd64Bytes - 12)).number(kVersion64).number(kVersion64).number(uint32_t(0));
    end.number(uint32_t(0)).number(count).number(count).number(bytes).number(start);
    end.number(zip::kEnd64Locator).number(uint32_t(0)).number(end64).number(uint32_t(1));
  }
  const auto short_count = uint16_t(std::min<uint64_t>(count, 0xffff));
  end.number(zip::kEnd).number(uint32_t(0)).number(short_count).number(short_count);
  end.number(short_form(bytes)).number(short_form(start)).number(uint16_t(0));
  write(end.view());
}

}  // namespace pyburn::io
