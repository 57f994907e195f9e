// A file that appears complete or not at all: written under another name in the same folder, then renamed. Devices and pipes are written to
// as they are.
#pragma once
#include <filesystem>
#include <functional>
#include <string>

#include "pyburn/io/byte_sink.h"

namespace pyburn::io {

class AtomicFile final : public ByteSink {
 public:
  // Errors of the system are FileErrors, here and below.
  explicit AtomicFile(const std::filesystem::path& path);
  ~AtomicFile() override;  // without commit(): leaves what was there before
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;

  void write(std::span<const std::byte> bytes) override;
  void commit();  // on disk, then under its name

 private:
  [[noreturn]] void fail_with(const char* what, int code) const;
  std::filesystem::path path_, temporary_;
  int descriptor_ = -1;
};

// Calls `fill`, and keeps the file only if it returns.
void atomic_write(const std::filesystem::path& path, const std::function<void(AtomicFile&)>& fill);

}  // namespace pyburn::io
