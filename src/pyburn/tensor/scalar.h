// A number that is not a tensor: bool, integer or floating, as the user wrote it.
#pragma once
#include <concepts>
#include <cstdint>
#include <string>

#include "pyburn/tensor/dtype.h"

namespace pyburn {

class Scalar {
 public:
  enum class Kind : uint8_t { boolean, integer, floating };
  Scalar() : Scalar(int64_t(0)) {}
  Scalar(bool v) : kind_(Kind::boolean), i_(v) {}
  template <std::integral T>
  requires(!std::same_as<T, bool>) Scalar(T v) : kind_(Kind::integer), i_(int64_t(v)) {}
  template <std::floating_point T>
  Scalar(T v) : kind_(Kind::floating), d_(double(v)) {}

  Kind kind() const { return kind_; }
  bool is_floating() const { return kind_ == Kind::floating; }
  double to_double() const { return is_floating() ? d_ : double(i_); }
  int64_t to_int() const;  // truncates; saturates instead of undefined behaviour
  template <class T>
  T to() const {
    if constexpr (std::same_as<T, bool>) return is_floating() ? d_ != 0 : i_ != 0;
    else if constexpr (std::floating_point<T>) return T(to_double());
    else return T(to_int());
  }
  // The dtype of this number: bool, int64, or the default floating-point dtype.
  DType dtype() const;
  bool operator==(const Scalar& o) const {
    return kind_ == o.kind_ && (is_floating() ? d_ == o.d_ || (d_ != d_ && o.d_ != o.d_) : i_ == o.i_);
  }

 private:
  Kind kind_;
  union {
    int64_t i_;
    double d_;
  };
};

std::string to_text(const Scalar&);

}  // namespace pyburn
