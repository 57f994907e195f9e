// Concatenates little-endian numbers and text, for file headers.
#pragma once
#include <cstddef>
#include <cstring>
#include <span>
#include <string_view>
#include <vector>

namespace pyburn::io {

class ByteBuilder {
 public:
  template <class T>
  requires std::is_arithmetic_v<T> ByteBuilder& number(T v) { return bytes(std::as_bytes(std::span(&v, 1))); }
  ByteBuilder& text(std::string_view v) { return bytes(std::as_bytes(std::span(v))); }
  ByteBuilder& bytes(std::span<const std::byte> v) {
    bytes_.insert(bytes_.end(), v.begin(), v.end());
    return *this;
  }
  ByteBuilder& zeros(size_t count) {
    bytes_.resize(bytes_.size() + count);
    return *this;
  }
  size_t size() const { return bytes_.size(); }
  std::span<const std::byte> view() const { return bytes_; }
  std::vector<std::byte> take() { return std::move(bytes_); }

 private:
  std::vector<std::byte> bytes_;
};

}  // namespace pyburn::io
