#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "pyburn/backends/cpu/streaming.cpp"
#include <hwy/foreach_target.h>
// After foreach_target.
#include <hwy/highway.h>

#include "pyburn/backends/cpu/streaming-inl.h"

HWY_BEFORE_NAMESPACE();
namespace pyburn::cpu::HWY_NAMESPACE {
namespace {

void stream_out(const void* from, void* to, int64_t bytes) { stream_bytes(from, to, bytes); }

void reverse_out(const uint32_t* x, uint32_t* y, int64_t n) {
  const hn::ScalableTag<uint32_t> d;
  const int64_t lanes = int64_t(hn::Lanes(d));
  int64_t i = 0;
  for (; n - i >= lanes; i += lanes) hn::StoreU(hn::Reverse(d, hn::LoadU(d, x + n - i - lanes)), d, y + i);
  for (; i < n; ++i) y[i] = x[n - 1 - i];
}

#if HWY_ARCH_X86 && HWY_TARGET <= HWY_AVX3
// Pairs of elements, then of pairs, inside blocks of 128 bits; then the blocks.
void transpose_16(const uint32_t* x, int64_t f, uint32_t* y, int64_t t, bool streamed) {
  __m512i r[16], s[16];
  for (int i = 0; i < 16; ++i) r[i] = _mm512_loadu_si512(x + i * f);
  for (int i = 0; i < 16; i += 2) {
    s[i] = _mm512_unpacklo_epi32(r[i], r[i + 1]);
    s[i + 1] = _mm512_unpackhi_epi32(r[i], r[i + 1]);
  }
  for (int i = 0; i < 16; i += 4) {
    r[i] = _mm512_unpacklo_epi64(s[i], s[i + 2]);
    r[i + 1] = _mm512_unpackhi_epi64(s[i], s[i + 2]);
    r[i + 2] = _mm512_unpacklo_epi64(s[i + 1], s[i + 3]);
    r[i + 3] = _mm512_unpackhi_epi64(s[i + 1], s[i + 3]);
  }
  for (int i = 0; i < 4; ++i)
    for (int half = 0; half < 16; half += 8) {
      s[half + i] = _mm512_shuffle_i32x4(r[half + i], r[half + i + 4], 0x88);
      s[half + i + 4] = _mm512_shuffle_i32x4(r[half + i], r[half + i + 4], 0xdd);
    }
  for (int i = 0; i < 8; ++i) {
    r[i] = _mm512_shuffle_i32x4(s[i], s[i + 8], 0x88);
    r[i + 8] = _mm512_shuffle_i32x4(s[i], s[i + 8], 0xdd);
  }
  if (streamed)
    for (int i = 0; i < 16; ++i) _mm512_stream_si512(reinterpret_cast<__m512i*>(y + i * t), r[i]);
  else
    for (int i = 0; i < 16; ++i) _mm512_storeu_si512(y + i * t, r[i]);
}
SquareTranspose find_transpose() { return transpose_16; }
#elif HWY_ARCH_X86 && HWY_TARGET <= HWY_AVX2
HWY_INLINE __m256i two_blocks(const uint32_t* low, const uint32_t* high) {
  return _mm256_inserti128_si256(_mm256_castsi128_si256(_mm_loadu_si128(reinterpret_cast<const __m128i*>(low))),
      _mm_loadu_si128(reinterpret_cast<const __m128i*>(high)), 1);
}
HWY_INLINE void transpose_8(const uint32_t* x, int64_t f, uint32_t* y, int64_t t) {
  for (int half = 0; half < 8; half += 4) {
    __m256i r[4];
    for (int i = 0; i < 4; ++i) r[i] = two_blocks(x + i * f + half, x + (i + 4) * f + half);
    const __m256i a = _mm256_unpacklo_epi32(r[0], r[1]), b = _mm256_unpackhi_epi32(r[0], r[1]);
    const __m256i c = _mm256_unpacklo_epi32(r[2], r[3]), d = _mm256_unpackhi_epi32(r[2], r[3]);
    const __m256i rows[4] = {
        _mm256_unpacklo_epi64(a, c), _mm256_unpackhi_epi64(a, c), _mm256_unpacklo_epi64(b, d), _mm256_unpackhi_epi64(b, d)};
    for (int i = 0; i < 4; ++i) _mm256_storeu_si256(reinterpret_cast<__m256i*>(y + (half + i) * t), rows[i]);
  }
}
void transpose_16(const uint32_t* x, int64_t f, uint32_t* y, int64_t t, bool streamed) {
  alignas(64) uint32_t lines[16][16];
  uint32_t* to = streamed ? lines[0] : y;
  const int64_t row = streamed ? 16 : t;
  for (int k = 0; k < 16; k += 8)
    for (int c = 0; c < 16; c += 8) transpose_8(x + c * f + k, f, to + k * row + c, row);
  for (int k = 0; streamed && k < 16; ++k) stream_bytes(lines[k], y + k * t, 64);
}
SquareTranspose find_transpose() { return transpose_16; }
#else
SquareTranspose find_transpose() { return nullptr; }
#endif

}  // namespace
}  // namespace pyburn::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace pyburn::cpu {

HWY_EXPORT(stream_out);
HWY_EXPORT(reverse_out);
HWY_EXPORT(find_transpose);
void write_around_caches(const void* from, void* to, int64_t bytes) { HWY_DYNAMIC_DISPATCH(stream_out)(from, to, bytes); }
void copy_reversed(const uint32_t* x, uint32_t* y, int64_t n) { HWY_DYNAMIC_DISPATCH(reverse_out)(x, y, n); }
SquareTranspose square_transpose() { return HWY_DYNAMIC_DISPATCH(find_transpose)(); }

}  // namespace pyburn::cpu
#endif
