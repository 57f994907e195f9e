// A vector with N inline elements: shapes, strides and argument lists of common ranks need no heap.
#pragma once
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <new>
#include <span>
#include <type_traits>
#include <utility>

#include "pyburn/support/pool.h"

namespace pyburn {

[[gnu::cold]] void small_vector_overflow();  // std::bad_alloc; returns if that fault is injected (fault.h)

template <class T, int N>
class SmallVector {
 public:
  using value_type = T;
  SmallVector() = default;
  SmallVector(std::initializer_list<T> v) { append(v.begin(), v.end()); }
  explicit SmallVector(std::span<const T> v) { append(v.data(), v.data() + v.size()); }
  SmallVector(int64_t n, const T& value) { resize(n, value); }
  SmallVector(const SmallVector& o) {
    if (!copy_inline(o)) append(o.begin(), o.end());
  }
  SmallVector(SmallVector&& o) noexcept { take(o); }
  ~SmallVector() { reset(); }
  SmallVector& operator=(const SmallVector& o) {
    if (this != &o) {
      clear();
      if (heap_ || !copy_inline(o)) append(o.begin(), o.end());
    }
    return *this;
  }
  SmallVector& operator=(SmallVector&& o) noexcept {
    if (this != &o) {
      reset();
      take(o);
    }
    return *this;
  }

  int64_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  T* data() { return heap_ ? heap_ : inline_data(); }
  const T* data() const { return heap_ ? heap_ : const_cast<SmallVector*>(this)->inline_data(); }
  T* begin() { return data(); }
  T* end() { return data() + size_; }
  const T* begin() const { return data(); }
  const T* end() const { return data() + size_; }
  T& operator[](int64_t i) { return data()[i]; }
  const T& operator[](int64_t i) const { return data()[i]; }
  T& back() { return data()[size_ - 1]; }
  const T& back() const { return data()[size_ - 1]; }
  operator std::span<const T>() const { return {data(), size_t(size_)}; }

  void reserve(int64_t n) {
    if (n <= capacity_) return;
    if (n > INT32_MAX / int64_t(sizeof(T))) small_vector_overflow();
    T* p = static_cast<T*>(pool_allocate(size_t(n) * sizeof(T)));
    T* old = data();
    for (int64_t i = 0; i < size_; ++i) {
      new (p + i) T(std::move(old[i]));
      old[i].~T();
    }
    free_heap();
    heap_ = p;
    capacity_ = int32_t(n);
  }
  void push_back(T v) {
    if (size_ == capacity_) reserve(int64_t(capacity_) * 2);
    new (data() + size_) T(std::move(v));
    ++size_;
  }
  template <class I>
  void append(I first, I last) {
    if constexpr (std::is_trivially_copyable_v<T> && std::is_convertible_v<I, const T*>) {
      const int64_t n = last - first;
      if (size_ + n > capacity_) reserve(size_ + n);
      if (n) std::memcpy(static_cast<void*>(data() + size_), static_cast<const T*>(first), size_t(n) * sizeof(T));
      size_ += int32_t(n);
    } else {
      for (; first != last; ++first) push_back(*first);
    }
  }
  void pop_back() { data()[--size_].~T(); }
  void resize(int64_t n, const T& value = T()) {
    while (size_ > n) pop_back();
    reserve(n);
    for (T* p = data(); size_ < n; ++size_) new (p + size_) T(value);
  }
  void clear() {
    if constexpr (std::is_trivially_destructible_v<T>) size_ = 0;
    else
      while (size_ > 0) pop_back();
  }
  void erase(int64_t i) {
    for (T* p = data() + i; p + 1 != end(); ++p) *p = std::move(p[1]);
    pop_back();
  }
  void insert(int64_t i, T v) {
    push_back(std::move(v));
    for (int64_t k = size_ - 1; k > i; --k) std::swap(data()[k], data()[k - 1]);
  }

  bool operator==(const SmallVector& o) const {
    if (size_ != o.size_) return false;
    for (int64_t i = 0; i < size_; ++i)
      if (!(data()[i] == o.data()[i])) return false;
    return true;
  }

 private:
  T* inline_data() { return std::launder(reinterpret_cast<T*>(inline_)); }
  void free_heap() {
    if (heap_) pool_free(heap_, size_t(capacity_) * sizeof(T));
    heap_ = nullptr;
  }
  void reset() {
    clear();
    free_heap();
    capacity_ = N;
  }
  void take(SmallVector& o) {  // this is empty and inline
    if (o.heap_) {
      heap_ = std::exchange(o.heap_, nullptr);
      capacity_ = std::exchange(o.capacity_, N);
      size_ = std::exchange(o.size_, 0);
    } else if (!copy_inline(o)) {
      for (T& v : o) push_back(std::move(v));
      o.clear();
    } else {
      o.size_ = 0;
    }
  }
  // Short lists of plain values are copied as a whole, which is cheaper than copying the exact length. False: not one of them.
  bool copy_inline(const SmallVector& o) {  // this is empty and inline
    if constexpr (std::is_trivially_copyable_v<T> && N * sizeof(T) <= 64) {
      if (o.heap_) return false;
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"  // elements past the end are copied but never read
#endif
      std::memcpy(inline_, o.inline_, sizeof(inline_));
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic pop
#endif
      size_ = o.size_;
      return true;
    } else {
      return false;
    }
  }

  int32_t size_ = 0, capacity_ = N;
  T* heap_ = nullptr;
  alignas(T) std::byte inline_[N * sizeof(T)];
};

}  // namespace pyburn
