// pyburn's own file (.pyburn): the options of a model, its tensors and text, and any other bytes, such as captured graphs.
// Sections of bytes follow each other, aligned so that they can be used where they lie; a table of contents stands at the
// end, so a file is written in one pass and a cut one is noticed. Everything has a checksum.
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
  void config(const std::string& json);    // the options that the model was made from; FormatError unless JSON
  void metadata(const TextMap& metadata);  // any text
  void tensor(const Snapshot& tensor);     // ValueError when the name is used twice
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

  const std::string& config() const { return config_; }  // JSON; empty where there is none
  const TextMap& metadata() const { return metadata_; }
  const Snapshots& tensors() const { return tensors_; }
  std::vector<std::string> sections() const;
  SharedBytes section(std::string_view name) const;  // ValueError when there is none

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
