// Keys for sorting numbers: unsigned integers in the same order, suitable for a radix sort. NaN is the largest key; -0 and 0 have the same
// key.
#pragma once
#include <algorithm>
#include <bit>
#include <cstdint>
#include <limits>
#include <type_traits>
#include <utility>
#include <vector>

#include "pyburn/support/interrupt.h"

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

// Whether value_of_key() restores the number: many NaNs share a key, as do the two zeros.
template <class T>
bool is_unique(KeyOf<T> key) {
  return !std::is_floating_point_v<T> || (key != std::numeric_limits<KeyOf<T>>::max() && key != key_of(T(0)));
}
template <class T>
T value_of_key(KeyOf<T> key) {
  using K = KeyOf<T>;
  constexpr K sign = K(1) << (8 * sizeof(K) - 1);
  if constexpr (std::is_floating_point_v<T>) return std::bit_cast<T>(key & sign ? key ^ sign : ~key);
  else return std::is_signed_v<T> ? T(key ^ sign) : T(key);
}

// An element of a row and its index. Equal keys are ordered by index, so every sort is stable.
template <class K>
struct Entry {
  K key;
  uint32_t at;
  bool operator<(const Entry& o) const { return key != o.key ? key < o.key : at < o.at; }
};

// The entries of a row of n elements, `stride` apart; `flip` reverses the order of keys.
template <class T>
void make_entries(const T* p, int64_t stride, int64_t n, bool flip, Entry<KeyOf<T>>* entries) {
  const KeyOf<T> mask = flip ? KeyOf<T>(~KeyOf<T>(0)) : KeyOf<T>(0);
  for (int64_t i = 0; i < n; ++i) entries[i] = {KeyOf<T>(key_of(p[i * stride]) ^ mask), uint32_t(i)};
}

// Sorts entries with increasing indices by the low `bits` bits of their keys; returns `entries` or `spare` (room for n more), whichever
// holds the result. Digits have at most 12 bits, or 8 for few entries, lowest first; digits shared by all keys are skipped.
template <class K>
Entry<K>* sort_by_digits(Entry<K>* entries, Entry<K>* spare, int64_t n, int bits) {
  const int most = n < 1024 ? 8 : 12, digits = (bits + most - 1) / most, width = digits ? (bits + digits - 1) / digits : 0;
  const K mask = (K(1) << width) - 1;
  std::vector<uint32_t> counts(size_t(mask) + 1);
  for (int shift = 0; shift < bits; shift += width) {
    if (n >= (1 << 20)) check_interrupt();
    std::fill(counts.begin(), counts.end(), 0);
    for (int64_t i = 0; i < n; ++i) ++counts[size_t(entries[i].key >> shift & mask)];
    if (int64_t(counts[size_t(entries[0].key >> shift & mask)]) == n) continue;
    uint32_t sum = 0;
    for (uint32_t& count : counts) sum += std::exchange(count, sum);
    for (int64_t i = 0; i < n; ++i) spare[counts[size_t(entries[i].key >> shift & mask)]++] = entries[i];
    std::swap(entries, spare);
  }
  return entries;
}

template <class K>
inline constexpr int64_t kFewEntries = sizeof(K) == 4 ? 64 : 256;  // below, a radix sort does not pay off

// As above for whole keys; the result is in `entries`.
template <class K>
void sort_entries(Entry<K>* entries, Entry<K>* spare, int64_t n) {
  if (n < kFewEntries<K>) return std::sort(entries, entries + n);
  if (sort_by_digits(entries, spare, n, 8 * int(sizeof(K))) != entries) std::copy_n(spare, n, entries);
}

}  // namespace pyburn::cpu
