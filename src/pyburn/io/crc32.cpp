#include "pyburn/io/crc32.h"

#include <array>
#include <cstring>

namespace pyburn::io {
namespace {

constexpr uint32_t kPolynomial = 0xedb88320u;  // reflected

// kTables[k][b]: what byte b does to the remainder when k more bytes follow it. Eight bytes are then eight lookups that do
// not wait for each other.
constexpr auto kTables = [] {
  std::array<std::array<uint32_t, 256>, 8> t{};
  for (uint32_t b = 0; b < 256; ++b) {
    uint32_t r = b;
    for (int i = 0; i < 8; ++i) r = r & 1 ? r >> 1 ^ kPolynomial : r >> 1;
    t[0][b] = r;
  }
  for (size_t k = 1; k < 8; ++k)
    for (size_t b = 0; b < 256; ++b) t[k][b] = t[k - 1][b] >> 8 ^ t[0][t[k - 1][b] & 255];
  return t;
}();

}  // namespace

uint32_t crc32(std::span<const std::byte> bytes, uint32_t before) {
  uint32_t r = ~before;
  while (bytes.size() >= 8) {
    uint64_t word;
    std::memcpy(&word, bytes.data(), 8);
    word ^= r;
    r = 0;
    for (size_t k = 0; k < 8; ++k) r ^= kTables[7 - k][word >> (8 * k) & 255];
    bytes = bytes.subspan(8);
  }
  for (std::byte b : bytes) r = r >> 8 ^ kTables[0][(r ^ uint32_t(b)) & 255];
  return ~r;
}

}  // namespace pyburn::io
