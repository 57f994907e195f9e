// Checked: arithmetic on sizes (extents, strides, offsets, counts, bytes) that raises an error on overflow.
//
//   const int64_t end = Checked(offset) + Checked(stride) * (extent - 1);
#pragma once
#include <concepts>
#include <cstdint>

namespace pyburn {

[[gnu::cold]] int64_t size_overflow(int64_t wrapped);  // ShapeError; returns the wrapped value if that fault is injected (fault.h)

class Checked {
 public:
  constexpr Checked(int64_t value) : value_(value) {}
  constexpr operator int64_t() const { return value_; }

  Checked plus(int64_t b) const {
    int64_t r;
    return __builtin_add_overflow(value_, b, &r) ? size_overflow(r) : r;
  }
  Checked minus(int64_t b) const {
    int64_t r;
    return __builtin_sub_overflow(value_, b, &r) ? size_overflow(r) : r;
  }
  Checked times(int64_t b) const {
    int64_t r;
    return __builtin_mul_overflow(value_, b, &r) ? size_overflow(r) : r;
  }
  Checked& operator+=(int64_t b) { return *this = plus(b); }
  Checked& operator*=(int64_t b) { return *this = times(b); }

 private:
  int64_t value_;
};

// Either operand may be a plain integer.
template <class A, class B>
concept OneIsChecked = (std::same_as<A, Checked> && (std::same_as<B, Checked> || std::integral<B>)) ||
                       (std::integral<A> && std::same_as<B, Checked>);
template <class A, class B>
requires OneIsChecked<A, B> Checked operator+(A a, B b) { return Checked(a).plus(b); }
template <class A, class B>
requires OneIsChecked<A, B> Checked operator-(A a, B b) { return Checked(a).minus(b); }
template <class A, class B>
requires OneIsChecked<A, B> Checked operator*(A a, B b) { return Checked(a).times(b); }

// The number of steps of this length that cover n: the quotient, rounded up. n >= 0, step > 0.
constexpr int64_t divide_up(int64_t n, int64_t step) { return n / step + (n % step != 0); }
// The start of a part when n is divided into equal parts; n times their number may exceed 64 bits.
constexpr int64_t part_begin(int64_t n, int64_t part, int64_t parts) { return n / parts * part + n % parts * part / parts; }

}  // namespace pyburn
