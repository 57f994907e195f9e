// A file that appears complete or not at all: written under a temporary name in the same folder, then renamed. Devices and pipes are
// written directly.
#pragma once
#include <filesystem>
#include <functional>
#include <string>

#include "pyburn/io/byte_sink.h"

namespace pyburn::io {

class AtomicFile final : public ByteSink {
 public:
  // System errors are raised as FileError, here and below.
  explicit AtomicFile(const std::filesystem::path& path);
  ~AtomicFile() override;  // without commit(): keeps the previous file
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;

  void write(std::span<const std::byte> bytes) override;
  void commit();  // syncs the file to disk and renames it

 private:
  [[noreturn]] void fail_with(const char* what, int code) const;
  std::filesystem::path path_, temporary_;
  int descriptor_ = -1;
};

// Calls `fill`, and keeps the file only if it returns normally.
void atomic_write(const std::filesystem::path& path, const std::function<void(AtomicFile&)>& fill);

}  // namespace pyburn::io
