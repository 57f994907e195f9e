// pyburn's own file format (.pyburn): the configuration of a model, its tensors and texts, and other bytes such as captured graphs.
// Sections follow each other, aligned for memory mapping; a table of contents at the end allows writing in one pass and reveals truncation.
// Everything has a checksum.
//
//   "PYBURN\r\n"  version  | sections ... | table (JSON) | where the table is, its size and checksum, "PYBURN\r\n"
#pragma once
#include "pyburn/io/snapshot.h"

namespace pyburn::io {

class ByteSink;

class BundleWriter {
 public:
  explicit BundleWriter(ByteSink& sink);
  ~BundleWriter();
  void config(const std::string& json);    // the configuration of the model; FormatError unless it is JSON
  void metadata(const TextMap& metadata);  // any text
  void tensor(const Snapshot& tensor);     // ValueError if the name is used twice
  void section(const std::string& name, std::span<const std::byte> bytes);
  void finish();  // writes the table

 private:
  struct Table;
  void write_section(std::span<const std::byte> bytes);
  void write(std::span<const std::byte> bytes);
  ByteSink& sink_;
  std::unique_ptr<Table> table_;
  uint64_t position_ = 0;
};

class BundleReader {
 public:
  explicit BundleReader(SharedBytes file, const OpenOptions& options = {});
  static bool looks_like_one(const SharedBytes& file) { return file.starts_with("PYBURN\r\n"); }

  const std::string& config() const { return config_; }  // JSON; empty if there is none
  const TextMap& metadata() const { return metadata_; }
  const Snapshots& tensors() const { return tensors_; }
  std::vector<std::string> sections() const;
  SharedBytes section(std::string_view name) const;  // ValueError if there is none

 private:
  struct Section {
    std::string name;
    SharedBytes bytes;
    uint32_t crc;
  };
  OpenOptions options_;
  std::string config_;
  TextMap metadata_;
  Snapshots tensors_;
  std::vector<Section> sections_;
};

}  // namespace pyburn::io
