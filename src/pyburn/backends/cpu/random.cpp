// Random numbers and dropout: element i uses word i of the stream, whatever the thread.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "pyburn/backends/cpu/random.cpp"
#include <hwy/foreach_target.h>
// After foreach_target.
#include <hwy/highway.h>

#include <algorithm>
#include <cmath>
#include <numbers>

#include "pyburn/backends/cpu/axis_walk.h"
#include "pyburn/backends/cpu/cpu_backend.h"
#include "pyburn/backends/cpu/dispatch_dtype.h"
#include "pyburn/backends/cpu/math/scalar-inl.h"
#include "pyburn/backends/cpu/scratch_buffer.h"
#include "pyburn/backends/cpu/streaming-inl.h"
#include "pyburn/ops/dropout.h"
#include "pyburn/ops/random.h"
#include "pyburn/support/thread_pool.h"

HWY_BEFORE_NAMESPACE();
namespace pyburn::cpu::HWY_NAMESPACE {
namespace {
namespace hn = hwy::HWY_NAMESPACE;

constexpr int64_t kWords = 1024;  // made at a time

// The upper halves of the products of 32-bit lanes with a number that is the same in all of them.
template <class V>
V upper_product(V a, V same) {
  const hn::DFromV<V> d;
#if HWY_TARGET == HWY_SCALAR
  return hn::Set(d, uint32_t(uint64_t(hn::GetLane(a)) * hn::GetLane(same) >> 32));
#else
  const hn::RepartitionToWide<decltype(d)> wide;
  const auto even = hn::ShiftRight<32>(hn::MulEven(a, same));
  const auto odd = hn::MulEven(hn::BitCast(d, hn::ShiftRight<32>(hn::BitCast(wide, a))), same);
  return hn::OddEven(hn::BitCast(d, odd), hn::BitCast(d, even));
#endif
}

// philox() of runtime/generator.h for counters from `index` on, one per lane: words[4 * i + k] is word k of counter i.
void make_words(uint64_t seed, uint64_t index, uint32_t* words) {
  const hn::ScalableTag<uint32_t> d;
  const int64_t lanes = int64_t(hn::Lanes(d));
  HWY_ALIGN uint32_t low[HWY_LANES(uint32_t)], high[HWY_LANES(uint32_t)];
  const auto m0 = hn::Set(d, 0xD2511F53u), m1 = hn::Set(d, 0xCD9E8D57u);
  for (int64_t at = 0; at < kWords / 4; at += lanes) {
    for (int64_t i = 0; i < lanes; ++i) {
      const uint64_t counter = index + uint64_t(at + i);
      low[i] = uint32_t(counter);
      high[i] = uint32_t(counter >> 32);
    }
    auto c0 = hn::Load(d, low), c1 = hn::Load(d, high), c2 = hn::Zero(d), c3 = hn::Zero(d);
    uint32_t k0 = uint32_t(seed), k1 = uint32_t(seed >> 32);
    for (int round = 0; round < 10; ++round) {
      const auto a_high = upper_product(c0, m0), a_low = hn::Mul(c0, m0), b_high = upper_product(c2, m1), b_low = hn::Mul(c2, m1);
      c0 = hn::Xor(hn::Xor(b_high, c1), hn::Set(d, k0));
      c2 = hn::Xor(hn::Xor(a_high, c3), hn::Set(d, k1));
      c1 = b_low;
      c3 = a_low;
      k0 += 0x9E3779B9;
      k1 += 0xBB67AE85;
    }
#if HWY_TARGET == HWY_SCALAR
    int k = 0;
    for (const auto c : {c0, c1, c2, c3}) words[4 * at + k++] = hn::GetLane(c);
#else
    hn::StoreInterleaved4(c0, c1, c2, c3, d, words + 4 * at);
#endif
  }
}

// Calls body(begin, n, words) over [0, count): elements begin, ..., begin + n - 1 use these words.
template <class Body>
void for_words(int64_t count, int64_t seed, int64_t offset, Body body) {
  parallel_for((count + kWords - 1) / kWords, 16, [&](int64_t first, int64_t last) {
    HWY_ALIGN uint32_t words[kWords];
    for (int64_t chunk = first; chunk < last; ++chunk) {
      make_words(uint64_t(seed), uint64_t(offset) + uint64_t(chunk * (kWords / 4)), words);
      body(chunk * kWords, std::min(kWords, count - chunk * kWords), words);
    }
    hwy::FlushStream();
  });
}

// [0, 1), in steps of 2^-24: exact in float. Signed, because processors convert signed numbers faster.
template <class T>
T unit(uint32_t word) {
  return T(int32_t(word >> 8)) * T(0x1p-24);
}

// sin(2 pi turn) and, with a quarter more, cos. The nearest quarter turn is taken off exactly.
inline float sine_of_turn(float turn, int32_t quarters) {
  const int32_t quarter = int32_t(turn * 4.0f + 0.5f);
  const float r = (turn - float(quarter) * 0.25f) * float(2 * std::numbers::pi), z = r * r;
  float s = -1.9515295891e-4f;
  s = s * z + 8.3321608736e-3f;
  s = s * z - 1.6666654611e-1f;
  s = s * z * r + r;
  float c = 2.443315711809948e-5f;
  c = c * z - 1.388731625493765e-3f;
  c = c * z + 4.166664568298827e-2f;
  c = c * z * z - 0.5f * z + 1.0f;
  const int32_t q = quarter + quarters;
  const float value = q & 1 ? c : s;
  return q & 2 ? -value : value;
}
inline double sine_of_turn(double turn, int32_t quarters) { return std::sin(2 * std::numbers::pi * (turn + 0.25 * quarters)); }

// Box and Muller: words 2i and 2i + 1 give a radius and an angle, and these two numbers.
template <class T>
void normal(const uint32_t* words, T* HWY_RESTRICT v, T mean, T deviation) {
  for (int64_t i = 0; i < kWords / 2; ++i) {
    const T u = (T(int32_t(words[2 * i] >> 8)) + T(1)) * T(0x1p-24), turn = unit<T>(words[2 * i + 1]);
    const T radius = std::sqrt(T(-2) * log_of(u)) * deviation;
    v[2 * i] = mean + radius * sine_of_turn(turn, 1);
    v[2 * i + 1] = mean + radius * sine_of_turn(turn, 0);
  }
}

template <class T>
void fill(const Random& a, T* to, int64_t count) {
  const T low = T(a.a), high = T(a.b);
  for_words(count, a.seed, a.offset, [&](int64_t begin, int64_t n, const uint32_t* words) {
    T* HWY_RESTRICT y = to + begin;
    switch (a.draw) {
      case Draw::uniform:
        if (a.a == 0 && a.b == 1) {
          for (int64_t i = 0; i < n; ++i) y[i] = unit<T>(words[i]);
        } else {
          const T last = a.a < a.b ? std::nextafter(high, low) : high;  // where rounding reaches the open end
          for (int64_t i = 0; i < n; ++i) {
            const T v = T(a.a + unit<double>(words[i]) * (a.b - a.a));
            y[i] = v < high ? v : last;
          }
        }
        break;
      case Draw::normal: {
        HWY_ALIGN T v[kWords];
        normal(words, v, low, high);
        std::copy_n(v, n, y);
        break;
      }
      case Draw::exponential:
        for (int64_t i = 0; i < n; ++i) y[i] = -log_of(T(1) - unit<T>(words[i])) / low;
        break;
      case Draw::bernoulli: {
        const uint32_t threshold = uint32_t(std::ceil(a.a * 0x1p24));  // the number is below p where its 24 bits are below this
        for (int64_t i = 0; i < n; ++i) y[i] = T((words[i] >> 8) < threshold);
        break;
      }
      case Draw::integer:
      case Draw::permutation:
        break;  // fill_integers(), fill_permutation()
    }
  });
}

// Sums wrap around as unsigned numbers: low may be negative and the range as large as 2^64 - 1.
template <class T>
void fill_integers(const Random& a, T* to, int64_t count) {
  const uint64_t low = uint64_t(a.low), range = a.range();
  if (a.takes_two_words()) {
    for_words(2 * count, a.seed, a.offset, [&](int64_t begin, int64_t n, const uint32_t* words) {
      for (int64_t i = 0; i + 1 < n; i += 2) {
        const uint64_t word = uint64_t(words[i]) << 32 | words[i + 1];
        to[(begin + i) / 2] = T(low + uint64_t(static_cast<unsigned __int128>(word) * range >> 64));
      }
    });
    return;
  }
  for_words(count, a.seed, a.offset, [&](int64_t begin, int64_t n, const uint32_t* words) {
    for (int64_t i = 0; i < n; ++i) to[begin + i] = T(low + (words[i] * range >> 32));
  });
}

// Fisher-Yates shuffle: element i is swapped with a random element of the rest. Sequential, and therefore on one thread; memory is
// prefetched, because the draws are known in advance.
void fill_permutation(const Random& a, int64_t* to, int64_t count) {
  constexpr int64_t kAhead = 32;
  ScratchBuffer<uint32_t> numbers(count);
  uint32_t* left = numbers.data();
  for (int64_t i = 0; i < count; ++i) left[i] = uint32_t(i);
  HWY_ALIGN uint32_t words[kWords];
  HWY_ALIGN int64_t places[kWords + kAhead];
  for (int64_t begin = 0; begin < count; begin += kWords) {
    const int64_t n = std::min(kWords, count - begin);
    make_words(uint64_t(a.seed), uint64_t(a.offset) + uint64_t(begin / 4), words);
    for (int64_t i = 0; i < n; ++i) places[i] = begin + i + int64_t(words[i] * uint64_t(count - begin - i) >> 32);
    std::fill_n(places + n, kAhead, begin);
    for (int64_t i = 0; i < kAhead; ++i) hwy::Prefetch(left + places[i]);
    for (int64_t i = 0; i < n; ++i) {
      hwy::Prefetch(left + places[i + kAhead]);
      to[begin + i] = left[places[i]];
      left[places[i]] = left[begin + i];
    }
  }
}

void random(const Random& a, TensorHandle& out) {
  const DType integer = out.dtype() == DType::int32 ? DType::int32 : DType::int64;
  const DType dtype = a.draw == Draw::permutation     ? DType::int64
                      : a.draw == Draw::integer       ? integer
                      : out.dtype() == DType::float32 ? DType::float32
                                                      : DType::float64;
  const PlainTarget to(out, dtype);
  const int64_t n = out.numel();
  if (a.draw == Draw::permutation) fill_permutation(a, to.data<int64_t>(), n);
  else if (dtype == DType::int64) fill_integers(a, to.data<int64_t>(), n);
  else if (dtype == DType::int32) fill_integers(a, to.data<int32_t>(), n);
  else if (dtype == DType::float32) fill(a, to.data<float>(), n);
  else fill(a, to.data<double>(), n);
  to.finish();
}

template <class T>
void seeded_dropout(const Dropout& a, const TensorHandle& x_, TensorHandle& y) {
  constexpr DType dtype = dtype_of<T>;
  const TensorHandle x = plain(x_, dtype);
  const PlainTarget to(y, dtype);
  const int32_t threshold = int32_t(std::ceil(a.p * 0x1p24));
  const T scale = T(a.scale), shift = T(a.shift), dropped = T(a.dropped);
  const T* const inputs = x.data<T>();
  T* const outputs = to.template data<T>();
  const bool streamed = x.numel() * int64_t(sizeof(T)) >= kStreamed;
  for_words(x.numel(), a.seed, a.offset, [=](int64_t begin, int64_t n, const uint32_t* words) {
    const T* from = inputs + begin;
    HWY_ALIGN T line[kWords];
    int64_t i = 0;
    if constexpr (std::is_same_v<T, float>) {  // written out, because the compiler branches instead of choosing
      const hn::ScalableTag<float> d;
      const hn::RebindToSigned<decltype(d)> whole;
      const int64_t lanes = int64_t(hn::Lanes(d));
      for (; i + lanes <= n; i += lanes) {
        const auto word = hn::ShiftRight<8>(hn::Load(hn::RebindToUnsigned<decltype(d)>(), words + i));
        const auto drops = hn::RebindMask(d, hn::Lt(hn::BitCast(whole, word), hn::Set(whole, threshold)));
        const auto kept = hn::MulAdd(hn::LoadU(d, from + i), hn::Set(d, scale), hn::Set(d, shift));
        hn::Store(hn::IfThenElse(drops, hn::Set(d, dropped), kept), d, line + i);
      }
    }
    for (; i < n; ++i) line[i] = int32_t(words[i] >> 8) < threshold ? dropped : from[i] * scale + shift;
    streamed ? stream_bytes(line, outputs + begin, n * int64_t(sizeof(T))) : (void)std::copy_n(line, n, outputs + begin);
  });
  to.finish();
}

void add_random(KernelTable& kernels) {
  kernels.add_for_all<random>(op::random);
  kernels.add<seeded_dropout<float>>(op::seeded_dropout, {DType::float32, DType::float16, DType::bfloat16});
  kernels.add<seeded_dropout<double>>(op::seeded_dropout, DType::float64);
}

}  // namespace
}  // namespace pyburn::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace pyburn::cpu {

HWY_EXPORT(add_random);
void register_random(KernelTable& kernels) { HWY_DYNAMIC_DISPATCH(add_random)(kernels); }

}  // namespace pyburn::cpu
#endif
