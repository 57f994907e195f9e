#include <set>

#include "pyburn/io/bundle.h"
#include "pyburn/io/bundle_format.h"
#include "pyburn/io/byte_cursor.h"
#include "pyburn/io/crc32.h"
#include "pyburn/io/json_text.h"

namespace pyburn::io {
namespace {

constexpr int kDeepestTable = 64;

const Json& member(const Json& row, const char* key) {
  require<FormatError>(row.is_object() && row.contains(key), "[bundle] the table has no entry '{}'", key);
  return row[key];
}
uint64_t whole(const Json& row, const char* key) {
  const Json& v = member(row, key);
  require<FormatError>(v.is_number_unsigned(), "[bundle] '{}' must be an integer: got {}", key, short_text(v));
  return v.get<uint64_t>();
}
std::string text(const Json& row, const char* key) {
  const Json& v = member(row, key);
  require<FormatError>(v.is_string(), "[bundle] '{}' must be a string: got {}", key, short_text(v));
  return v.get<std::string>();
}

Meta meta_of(const Json& row) {
  const std::string dtype = text(row, "dtype");
  const std::optional<DType> known = find_dtype(dtype);
  require<FormatError>(known.has_value(), "[bundle] unsupported dtype: got '{}'", dtype);
  Meta m{{}, *known};
  const Json& shape = member(row, "shape");
  require<FormatError>(shape.is_array() && shape.size() <= kMaxRank, "[bundle] expected a list of sizes: got {}", short_text(shape));
  for (const Json& v : shape) {
    require<FormatError>(
        v.is_number_unsigned() && v.get<uint64_t>() <= uint64_t(INT64_MAX), "[bundle] expected a size: got {}", short_text(v));
    m.shape.push_back(v.get<int64_t>());
  }
  return m;
}

// The position of a row's data, according to the table.
SharedBytes place_of(const Json& row, const SharedBytes& file, uint64_t end) {
  const uint64_t offset = whole(row, "offset"), bytes = whole(row, "bytes");
  require<FormatError>(offset >= bundle::kHeaderBytes && offset <= end && bytes <= end - offset,
      "[bundle] '{}' is outside the file: got {} bytes at offset {}", text(row, "name"), bytes, offset);
  return file.part(size_t(offset), size_t(bytes));
}

void check(const SharedBytes& bytes, uint32_t crc, const std::string& name) {
  require<FormatError>(crc32(bytes.view()) == crc, "[bundle] '{}' is damaged: its checksum does not match", name);
}

}  // namespace

BundleReader::BundleReader(SharedBytes file, const OpenOptions& options) : options_(options) {
  require<FormatError>(looks_like_one(file), "[bundle] not a pyburn file");
  require<FormatError>(
      file.size() >= bundle::kHeaderBytes + bundle::kFooterBytes, "[bundle] the file is truncated: got {} bytes", uint64_t(file.size()));
  ByteCursor head(file.view().subspan(bundle::kMagic.size()), "bundle");
  const auto version = head.number<uint32_t>();
  require<FormatError>(version == bundle::kVersion, "[bundle] unsupported format version: got {}, expected {}", version, bundle::kVersion);
  const uint64_t footer_at = file.size() - bundle::kFooterBytes;
  ByteCursor footer(file.view().subspan(size_t(footer_at)), "bundle");
  const auto offset = footer.number<uint64_t>(), bytes = footer.number<uint64_t>();
  const auto crc = footer.number<uint32_t>();
  footer.number<uint32_t>();
  require<FormatError>(footer.text(bundle::kMagic.size()) == bundle::kMagic && offset <= footer_at && bytes == footer_at - offset,
      "[bundle] the file is truncated or has trailing data");
  const SharedBytes table = file.part(size_t(offset), size_t(bytes));
  check(table, crc, "table of contents");

  const Json root = parse_json(table.view(), kDeepestTable, "bundle");
  if (const Json& config = member(root, "config"); !config.is_null()) config_ = config.dump();
  const Json& metadata = member(root, "metadata");
  require<FormatError>(metadata.is_object(), "[bundle] the metadata is not an object");
  for (const auto& [key, value] : metadata.items()) {
    require<FormatError>(value.is_string(), "[bundle] metadata '{}' is not a string", key);
    metadata_[key] = value.get<std::string>();
  }
  std::set<std::string> names;
  for (const Json& row : member(root, "tensors")) {
    const std::string name = text(row, "name");
    require<FormatError>(names.insert(name).second, "[bundle] duplicate tensor name: got '{}'", name);
    const Meta meta = meta_of(row);
    const SharedBytes data = place_of(row, file, offset);
    require<FormatError>(size_in_bytes(meta, name) == data.size(), "[bundle] tensor '{}' has the wrong size: got {} bytes for {} of {}",
        name, uint64_t(data.size()), meta.shape, meta.dtype);
    const auto sum = uint32_t(whole(row, "crc32"));
    tensors_.push_back({name, meta, [=, verify = options.verify && !options.mmap, mmap = options.mmap](Device& device) {
                          if (verify) check(data, sum, name);
                          return data.tensor(meta, device, mmap);
                        }});
  }
  for (const Json& row : member(root, "sections"))
    sections_.push_back({text(row, "name"), place_of(row, file, offset), uint32_t(whole(row, "crc32"))});
}

std::vector<std::string> BundleReader::sections() const {
  std::vector<std::string> names;
  for (const Section& s : sections_) names.push_back(s.name);
  return names;
}

SharedBytes BundleReader::section(std::string_view name) const {
  for (const Section& s : sections_)
    if (s.name == name) {
      if (options_.verify) check(s.bytes, s.crc, s.name);
      return s.bytes;
    }
  fail<ValueError>("[bundle] no such section: got '{}'", name);
}

}  // namespace pyburn::io
