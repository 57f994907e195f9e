// What kernels that work along one axis of contiguous tensors share.
#pragma once
#include "pyburn/backends/cpu/tiles.h"
#include "pyburn/support/error.h"

namespace pyburn::cpu {

// A contiguous tensor as (outer, extent, inner), with `extent` along the axis.
struct Axis {
  int64_t outer = 1, extent = 1, inner = 1;
  Axis() = default;
  Axis(const Shape& s, int64_t dim) {
    for (int i = 0; i < s.rank(); ++i) (i < dim ? outer : i == dim ? extent : inner) *= s[i];
  }
};

// x with plain order, in the given dtype: itself when it is so already.
inline TensorHandle plain(const TensorHandle& x, DType dtype) {
  return x.dtype() == dtype && x.layout().is_contiguous() ? x : converted(x, dtype);
}
// An optional input with `elements` elements; undefined where it is absent. Inference cannot tell an absent tensor from one
// without axes, so the number is checked here.
inline TensorHandle optional_plain(const TensorHandle& x, DType dtype, int64_t elements) {
  if (!x.defined()) return {};
  require(x.numel() == elements, "expected {} elements: got {}", elements, x.shape());
  return plain(x, dtype);
}
// Where a kernel that writes plain order in the given dtype writes; finish() brings it to where it belongs.
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
