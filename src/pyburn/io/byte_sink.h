// Sequential output for writers: a file, memory, or an object of another language.
#pragma once
#include <cstddef>
#include <functional>
#include <span>
#include <vector>

namespace pyburn::io {

class ByteSink {
 public:
  virtual ~ByteSink() = default;
  virtual void write(std::span<const std::byte> bytes) = 0;
};

class MemorySink final : public ByteSink {
 public:
  void write(std::span<const std::byte> bytes) override { bytes_.insert(bytes_.end(), bytes.begin(), bytes.end()); }
  std::vector<std::byte> take() { return std::move(bytes_); }

 private:
  std::vector<std::byte> bytes_;
};

}  // namespace pyburn::io
