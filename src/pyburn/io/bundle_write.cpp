#include <set>

#include "pyburn/io/bundle.h"
#include "pyburn/io/bundle_format.h"
#include "pyburn/io/byte_builder.h"
#include "pyburn/io/byte_sink.h"
#include "pyburn/io/crc32.h"
#include "pyburn/io/json_text.h"
#include "pyburn/runtime/device.h"
#include "pyburn/support/error.h"

namespace pyburn::io {

struct BundleWriter::Table {
  Json root = {{"config", nullptr}, {"metadata", Json::object()}, {"tensors", Json::array()}, {"sections", Json::array()}};
  std::set<std::string> tensors, sections;
  Json place;  // of what was written last
};

BundleWriter::BundleWriter(ByteSink& sink) : sink_(sink), table_(std::make_unique<Table>()) {
  write(ByteBuilder().text(bundle::kMagic).number(bundle::kVersion).number(uint32_t(0)).view());
}
BundleWriter::~BundleWriter() = default;

void BundleWriter::write(std::span<const std::byte> bytes) {
  sink_.write(bytes);
  position_ += bytes.size();
}

void BundleWriter::write_section(std::span<const std::byte> bytes) {
  write(ByteBuilder().zeros(size_t((bundle::kAlignment - position_ % bundle::kAlignment) % bundle::kAlignment)).view());
  table_->place = {{"offset", position_}, {"bytes", bytes.size()}, {"crc32", crc32(bytes)}};
  write(bytes);
}

void BundleWriter::config(const std::string& json) { table_->root["config"] = parse_json(std::as_bytes(std::span(json)), 64, "bundle"); }

void BundleWriter::metadata(const TextMap& metadata) {
  for (const auto& [key, text] : metadata) table_->root["metadata"][key] = text;
}

void BundleWriter::tensor(const Snapshot& t) {
  require<ValueError>(table_->tensors.insert(t.name).second, "[bundle] duplicate name: got '{}'", t.name);
  with_host_bytes(t.load(device("ndarray")), [&](std::span<const std::byte> bytes) { write_section(bytes); });
  Json row = {{"name", t.name}, {"dtype", std::string(name_of(t.meta.dtype))}};
  row["shape"] = std::vector<int64_t>(t.meta.shape.begin(), t.meta.shape.end());
  row.update(table_->place);
  table_->root["tensors"].push_back(std::move(row));
}

void BundleWriter::section(const std::string& name, std::span<const std::byte> bytes) {
  require<ValueError>(table_->sections.insert(name).second, "[bundle] duplicate name: got '{}'", name);
  write_section(bytes);
  Json row = {{"name", name}};
  row.update(table_->place);
  table_->root["sections"].push_back(std::move(row));
}

void BundleWriter::finish() {
  const std::string table = dump_json(table_->root, "bundle");
  const auto bytes = std::as_bytes(std::span(table));
  const uint64_t offset = position_;
  write(bytes);
  write(ByteBuilder()
            .number(offset)
            .number(uint64_t(bytes.size()))
            .number(crc32(bytes))
            .number(bundle::kVersion)
            .text(bundle::kMagic)
            .view());
}

}  // namespace pyburn::io
