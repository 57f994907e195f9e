// Helpers shared by kernels that work along one axis of contiguous tensors.
#pragma once
#include "pyburn/backends/cpu/tiles.h"
#include "pyburn/support/error.h"

namespace pyburn::cpu {

// A contiguous tensor viewed as (outer, extent, inner), where `extent` is the size along the axis.
struct Axis {
  int64_t outer = 1, extent = 1, inner = 1;
  Axis() = default;
  Axis(const Shape& s, int64_t dim) {
    for (int i = 0; i < s.rank(); ++i) (i < dim ? outer : i == dim ? extent : inner) *= s[i];
  }
};

// Returns x as a contiguous tensor of the given dtype; x itself if it already is one.
inline TensorHandle plain(const TensorHandle& x, DType dtype) {
  return x.dtype() == dtype && x.layout().is_contiguous() ? x : converted(x, dtype);
}
// An optional input with `elements` elements; undefined if it is absent. Inference cannot tell an absent tensor from a 0-d one, so the
// number of elements is checked here.
inline TensorHandle optional_plain(const TensorHandle& x, DType dtype, int64_t elements) {
  if (!x.defined()) return {};
  require(x.numel() == elements, "expected {} elements: got {}", elements, x.shape());
  return plain(x, dtype);
}
// The contiguous buffer of the given dtype that a kernel writes to; finish() copies it to the output if needed.
class PlainTarget {
 public:
  PlainTarget(const TensorHandle& y, DType dtype)
      : given_(y), plain_(y.dtype() == dtype && y.layout().is_contiguous() ? y : scratch(y, dtype)) {}
  const TensorHandle& tensor() const { return plain_; }
  template <class T>
  T* data() const {
    return plain_.data<T>();
  }
  void finish() const {
    if (!plain_.is_same(given_)) convert_into(plain_, given_);
  }

 private:
  const TensorHandle& given_;
  TensorHandle plain_;
};

}  // namespace pyburn::cpu
