#include "pyburn/tensor/scalar.h"

#include <limits>

#include "pyburn/support/format.h"

namespace pyburn {

int64_t Scalar::to_int() const {
  if (!is_floating()) return i_;
  if (d_ != d_) return 0;
  if (d_ >= 9.2233720368547758e18) return std::numeric_limits<int64_t>::max();
  if (d_ <= -9.2233720368547758e18) return std::numeric_limits<int64_t>::min();
  return int64_t(d_);
}

DType Scalar::dtype() const {
  switch (kind_) {
    case Kind::boolean:
      return DType::boolean;
    case Kind::integer:
      return DType::int64;
    default:
      return default_dtype();
  }
}

std::string to_text(const Scalar& s) {
  switch (s.kind()) {
    case Scalar::Kind::boolean:
      return to_text(s.to_int() != 0);
    case Scalar::Kind::integer:
      return to_text(s.to_int());
    default:
      return to_text(s.to_double());
  }
}

}  // namespace pyburn
