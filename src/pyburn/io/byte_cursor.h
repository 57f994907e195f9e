// Reads consecutive little-endian values; raises FormatError at the end of the data.
#pragma once
#include <bit>
#include <cstring>
#include <span>
#include <string_view>

#include "pyburn/support/error.h"
#include "pyburn/support/utf8.h"

namespace pyburn::io {

static_assert(std::endian::native == std::endian::little, "readers use bytes in place");

class ByteCursor {
 public:
  // `format` is the prefix of messages, e.g. "zip".
  ByteCursor(std::span<const std::byte> bytes, const char* format) : bytes_(bytes), format_(format) {}

  std::span<const std::byte> take(uint64_t count) {
    require<FormatError>(count <= left(), "[{}] the file ends too early: got {} bytes at {}, expected {}", format_, uint64_t(left()),
        uint64_t(position_), count);
    position_ += size_t(count);
    return bytes_.subspan(position_ - size_t(count), size_t(count));
  }
  template <class T>
  T number() {
    T v;
    std::memcpy(&v, take(sizeof(T)).data(), sizeof(T));
    return v;
  }
  std::string_view text(uint64_t count) {
    const auto bytes = take(count);
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
  }
  std::string_view line() {  // up to '\n', which is skipped
    const std::string_view rest{reinterpret_cast<const char*>(bytes_.data()) + position_, left()};
    const size_t end = rest.find('\n');
    require<FormatError>(end != rest.npos, "[{}] a line is not terminated", format_);
    return text(end + 1).substr(0, end);
  }
  size_t position() const { return position_; }
  size_t left() const { return bytes_.size() - position_; }
  std::span<const std::byte> rest() const { return bytes_.subspan(position_); }

 private:
  std::span<const std::byte> bytes_;
  const char* format_;
  size_t position_ = 0;
};

}  // namespace pyburn::io
