// float16 and bfloat16 as storage types: they convert to and from float, and compute as float.
#pragma once
#include <bit>
#include <cstdint>

namespace pyburn {

struct BFloat16 {
  uint16_t bits;
  BFloat16() = default;
  explicit BFloat16(float f) {
    const uint32_t u = std::bit_cast<uint32_t>(f);
    if ((u & 0x7fffffffu) > 0x7f800000u) bits = uint16_t((u >> 16) | 0x40);  // NaN stays NaN
    else bits = uint16_t((u + 0x7fffu + ((u >> 16) & 1)) >> 16);             // nearest, ties to even
  }
  operator float() const { return std::bit_cast<float>(uint32_t(bits) << 16); }
};

struct Half {
  uint16_t bits;
  Half() = default;
  explicit Half(float f) {
    const uint32_t u = std::bit_cast<uint32_t>(f), sign = (u >> 16) & 0x8000u, a = u & 0x7fffffffu;
    if (a > 0x7f800000u) bits = uint16_t(sign | 0x7e00u);
    else if (a >= 0x477ff000u) bits = uint16_t(sign | 0x7c00u);  // rounds to infinity
    else if (a < 0x38800000u) {                                  // subnormal: let the float unit round
      const float scaled = std::bit_cast<float>(a) + std::bit_cast<float>(0x3f000000u);
      bits = uint16_t(sign | (std::bit_cast<uint32_t>(scaled) - 0x3f000000u));
    } else {
      bits = uint16_t(sign | ((a + 0xfffu + ((a >> 13) & 1) - 0x38000000u) >> 13));
    }
  }
  operator float() const {
    const uint32_t sign = uint32_t(bits & 0x8000u) << 16, e = (bits >> 10) & 31u, m = bits & 0x3ffu;
    if (e == 31) return std::bit_cast<float>(sign | 0x7f800000u | (m << 13));
    if (e == 0) {
      const float f = float(m) * 5.9604644775390625e-8f;  // 2^-24
      return sign ? -f : f;
    }
    return std::bit_cast<float>(sign | ((e + 112u) << 23) | (m << 13));
  }
};

}  // namespace pyburn
