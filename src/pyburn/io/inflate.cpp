#include "pyburn/io/inflate.h"

#include <array>
#include <cstdint>

#include "pyburn/io/limits.h"
#include "pyburn/support/error.h"

namespace pyburn::io {
namespace {

constexpr int kLongestCode = 15;

[[noreturn]] void damaged(const char* what) { fail<FormatError>("[zip] the compressed data is damaged: {}", what); }

class Bits {
 public:
  explicit Bits(std::span<const std::byte> bytes) : bytes_(bytes) {}
  uint32_t take(int count) {
    while (available_ < count) {
      if (next_ == bytes_.size()) damaged("it ends too early");
      held_ |= uint32_t(bytes_[next_++]) << available_;
      available_ += 8;
    }
    const uint32_t v = held_ & ((1u << count) - 1);
    held_ >>= count;
    available_ -= count;
    return v;
  }
  std::span<const std::byte> whole_bytes(size_t count) {  // after the bits up to the next byte are dropped
    if (count > bytes_.size() - next_) damaged("it ends too early");
    next_ += count;
    return bytes_.subspan(next_ - count, count);
  }
  void drop_partial_byte() { held_ = 0, available_ = 0; }  // less than a byte is ever held between calls
  bool at_end() const { return next_ == bytes_.size(); }

 private:
  std::span<const std::byte> bytes_;
  size_t next_ = 0;
  uint32_t held_ = 0;
  int available_ = 0;
};

// A canonical prefix code: codes of one length are consecutive numbers, in the order of their symbols.
class PrefixCode {
 public:
  explicit PrefixCode(std::span<const uint8_t> lengths) {
    for (uint8_t n : lengths) ++count_[n];
    count_[0] = 0;
    int room = 1;
    for (int n = 1; n <= kLongestCode; ++n) {
      room = room * 2 - count_[size_t(n)];
      if (room < 0) damaged("a code has too many code words");
    }
    std::array<uint16_t, kLongestCode + 2> start{};
    for (size_t n = 1; n <= kLongestCode; ++n) start[n + 1] = uint16_t(start[n] + count_[n]);
    for (size_t s = 0; s < lengths.size(); ++s)
      if (lengths[s] != 0) symbols_[start[lengths[s]]++] = uint16_t(s);
  }
  uint32_t read(Bits& bits) const {
    uint32_t word = 0, first = 0, index = 0;
    for (size_t n = 1; n <= kLongestCode; ++n) {
      word |= bits.take(1);
      if (word - first < count_[n]) return symbols_[index + word - first];
      index += count_[n];
      first = (first + count_[n]) << 1;
      word <<= 1;
    }
    damaged("an unused code word");
  }

 private:
  std::array<uint16_t, kLongestCode + 1> count_{};
  std::array<uint16_t, 288> symbols_{};
};

struct Codes {
  PrefixCode literals, distances;
};

Codes fixed_codes() {
  std::array<uint8_t, 288> literals;
  std::array<uint8_t, 30> distances;
  for (size_t s = 0; s < literals.size(); ++s) literals[s] = s < 144 ? 8 : s < 256 ? 9 : s < 280 ? 7 : 8;
  distances.fill(5);
  return {PrefixCode(literals), PrefixCode(distances)};
}

// The lengths of both codes are written in a third one, whose own lengths come first.
Codes read_codes(Bits& bits) {
  constexpr std::array<uint8_t, 19> kOrder = {16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15};
  const size_t literals = bits.take(5) + 257, distances = bits.take(5) + 1, given = bits.take(4) + 4;
  if (literals > 286 || distances > 30) damaged("a code has too many symbols");
  std::array<uint8_t, 19> own{};
  for (size_t i = 0; i < given; ++i) own[kOrder[i]] = uint8_t(bits.take(3));
  const PrefixCode code(own);
  std::array<uint8_t, 286 + 30> lengths{};
  const size_t all = literals + distances;
  for (size_t i = 0; i < all;) {
    const uint32_t symbol = code.read(bits);
    if (symbol < 16) {
      lengths[i++] = uint8_t(symbol);
      continue;
    }
    if (symbol == 16 && i == 0) damaged("nothing to repeat");
    const uint8_t value = symbol == 16 ? lengths[i - 1] : uint8_t(0);
    const size_t times = symbol == 16 ? 3 + bits.take(2) : symbol == 17 ? 3 + bits.take(3) : 11 + bits.take(7);
    if (times > all - i) damaged("lengths are repeated too often");
    for (size_t end = i + times; i < end; ++i) lengths[i] = value;
  }
  if (lengths[256] == 0) damaged("a block has no end");
  const std::span<const uint8_t> both(lengths);
  return {PrefixCode(both.first(literals)), PrefixCode(both.subspan(literals, distances))};
}

class Output {
 public:
  explicit Output(size_t size) { bytes_.reserve(size), size_ = size; }
  void put(std::span<const std::byte> bytes) {
    if (bytes.size() > size_ - bytes_.size()) damaged("more data than announced");
    bytes_.insert(bytes_.end(), bytes.begin(), bytes.end());
  }
  void put(uint8_t v) {
    const std::byte b{v};
    put({&b, 1});
  }
  void repeat(size_t distance, size_t length) {
    if (distance > bytes_.size()) damaged("a reference to data before the start");
    if (length > size_ - bytes_.size()) damaged("more data than announced");
    for (size_t from = bytes_.size() - distance; length > 0; --length) bytes_.push_back(bytes_[from++]);
  }
  std::vector<std::byte> take() {
    if (bytes_.size() != size_) damaged("less data than announced");
    return std::move(bytes_);
  }

 private:
  std::vector<std::byte> bytes_;
  size_t size_;
};

// Lengths 3 to 258 and distances 1 to 32768 are a symbol, which gives the start of a range, and more bits within it.
void read_block(Bits& bits, const Codes& codes, Output& out) {
  constexpr std::array<uint16_t, 29> kLength = {
      3, 4, 5, 6, 7, 8, 9, 10, 11, 13, 15, 17, 19, 23, 27, 31, 35, 43, 51, 59, 67, 83, 99, 115, 131, 163, 195, 227, 258};
  constexpr auto length_bits = [](uint32_t s) { return s < 8 || s == 28 ? 0 : int(s / 4) - 1; };
  constexpr auto distance_bits = [](uint32_t s) { return s < 4 ? 0 : int(s / 2) - 1; };
  constexpr auto distance_start = [](uint32_t s) { return s < 4 ? s + 1 : ((2 + s % 2) << (s / 2 - 1)) + 1; };
  while (true) {
    uint32_t symbol = codes.literals.read(bits);
    if (symbol == 256) return;
    if (symbol < 256) {
      out.put(uint8_t(symbol));
      continue;
    }
    symbol -= 257;
    if (symbol >= kLength.size()) damaged("an invalid length");
    const size_t length = kLength[symbol] + bits.take(length_bits(symbol));
    const uint32_t far = codes.distances.read(bits);
    if (far >= 30) damaged("an invalid distance");
    out.repeat(distance_start(far) + bits.take(distance_bits(far)), length);
  }
}

void read_stored(Bits& bits, Output& out) {
  bits.drop_partial_byte();
  const uint32_t length = bits.take(16), check = bits.take(16);
  if ((length ^ check) != 0xffff) damaged("the length of a block");
  out.put(bits.whole_bytes(length));
}

}  // namespace

std::vector<std::byte> inflate(std::span<const std::byte> packed, size_t size) {
  require<FormatError>(size / kDeflateFactor <= packed.size(), "[zip] the compressed data is too short: got {} bytes for {}",
      uint64_t(packed.size()), uint64_t(size));
  Bits bits(packed);
  Output out(size);
  for (bool last = false; !last;) {
    last = bits.take(1) == 1;
    switch (bits.take(2)) {
      case 0:
        read_stored(bits, out);
        break;
      case 1:
        read_block(bits, fixed_codes(), out);
        break;
      case 2:
        read_block(bits, read_codes(bits), out);
        break;
      default:
        damaged("an unknown block type");
    }
  }
  if (!bits.at_end()) damaged("data after its end");
  return out.take();
}

}  // namespace pyburn::io
