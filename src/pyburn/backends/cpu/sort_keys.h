// Sorting numbers by keys: unsigned integers in the same order, on which a radix sort works. NaN is the largest key; -0 and
// 0 share one.
#pragma once
#include <algorithm>
#include <bit>
#include <cstdint>
#include <limits>
#include <type_traits>
#include <vector>

namespace pyburn::cpu {

template <class T>
using KeyOf = std::conditional_t<sizeof(T) == 4, uint32_t, uint64_t>;

template <class T>
KeyOf<T> key_of(T x) {
  using K = KeyOf<T>;
  constexpr K sign = K(1) << (8 * sizeof(K) - 1);
  if constexpr (std::is_floating_point_v<T>) {
    if (x != x) return std::numeric_limits<K>::max();
    const K bits = std::bit_cast<K>(x == T(0) ? T(0) : x);
    return bits & sign ? ~bits : bits | sign;
  } else if constexpr (std::is_signed_v<T>) {
    return K(x) ^ sign;
  } else {
    return x;
  }
}

// An element of a line and where it was. Equal keys are in order of position, so that every sort is stable.
template <class K>
struct Entry {
  K key;
  uint32_t at;
  bool operator<(const Entry& o) const { return key != o.key ? key < o.key : at < o.at; }
};

// The entries of a line of n elements, `stride` apart; `flip` reverses the order of keys.
template <class T>
void make_entries(const T* p, int64_t stride, int64_t n, bool flip, Entry<KeyOf<T>>* entries) {
  const KeyOf<T> mask = flip ? KeyOf<T>(~KeyOf<T>(0)) : KeyOf<T>(0);
  for (int64_t i = 0; i < n; ++i) entries[i] = {KeyOf<T>(key_of(p[i * stride]) ^ mask), uint32_t(i)};
}

// Sorts entries whose positions grow. Digits of 11 bits, from the lowest; a digit that all keys share costs nothing.
// `spare` has room for n more. The result is in `entries`.
template <class K>
void sort_entries(Entry<K>* entries, Entry<K>* spare, int64_t n) {
  constexpr int64_t kSmall = 512;
  if (n < kSmall) return std::sort(entries, entries + n);
  constexpr int kBits = 11, kDigits = (8 * int(sizeof(K)) + kBits - 1) / kBits;
  constexpr K kMask = (1 << kBits) - 1;
  std::vector<uint32_t> counts(size_t(kDigits) << kBits);
  for (int64_t i = 0; i < n; ++i)
    for (int d = 0; d < kDigits; ++d) ++counts[size_t(d << kBits) + size_t(entries[i].key >> (d * kBits) & kMask)];
  Entry<K>*from = entries, *to = spare;
  for (int d = 0; d < kDigits; ++d) {
    uint32_t* count = counts.data() + (d << kBits);
    if (int64_t(count[from[0].key >> (d * kBits) & kMask]) == n) continue;
    uint32_t sum = 0;
    for (size_t k = 0; k <= kMask; ++k) {
      const uint32_t here = count[k];
      count[k] = sum;
      sum += here;
    }
    for (int64_t i = 0; i < n; ++i) to[count[from[i].key >> (d * kBits) & kMask]++] = from[i];
    std::swap(from, to);
  }
  if (from != entries) std::copy_n(from, n, entries);
}

}  // namespace pyburn::cpu
