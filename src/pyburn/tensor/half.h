// float16 and bfloat16 as storage types: they convert to and from float, and compute as float. The conversions use selects instead of
// branches, so that loops over them vectorise.
#pragma once
#include <bit>
#include <cstdint>

namespace pyburn {

struct BFloat16 {
  uint16_t bits;
  BFloat16() = default;
  explicit BFloat16(float f) {
    const uint32_t u = std::bit_cast<uint32_t>(f);
    const uint32_t nan = (u >> 16) | 0x40, nearest = (u + 0x7fffu + ((u >> 16) & 1)) >> 16;  // ties to even
    bits = uint16_t((u & 0x7fffffffu) > 0x7f800000u ? nan : nearest);
  }
  operator float() const { return std::bit_cast<float>(uint32_t(bits) << 16); }
};

struct Half {
  uint16_t bits;
  Half() = default;
  explicit Half(float f) {
    const uint32_t u = std::bit_cast<uint32_t>(f), sign = (u >> 16) & 0x8000u, a = u & 0x7fffffffu;
    const uint32_t normal = (a + 0xfffu + ((a >> 13) & 1) - 0x38000000u) >> 13;
    const uint32_t subnormal = std::bit_cast<uint32_t>(std::bit_cast<float>(a) + 0.5f) - 0x3f000000u;  // rounding by the float unit
    const uint32_t large = a > 0x7f800000u ? 0x7e00u : 0x7c00u;                                        // NaN, or rounds to infinity
    bits = uint16_t(sign | (a >= 0x477ff000u ? large : a < 0x38800000u ? subnormal : normal));
  }
  operator float() const {
    const uint32_t sign = uint32_t(bits & 0x8000u) << 16, a = uint32_t(bits & 0x7fffu) << 13;
    const uint32_t finite = std::bit_cast<uint32_t>(std::bit_cast<float>(a) * 5.192296858534828e33f);  // 2^112: difference of the biases
    return std::bit_cast<float>(sign | (a >= 0x0f800000u ? a | 0x7f800000u : finite));
  }
};

}  // namespace pyburn
