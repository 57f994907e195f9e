// Tensors in the form most kernels expect: contiguous, in the compute type of the kernel. Copies are made only if needed.
#pragma once
#include "pyburn/backends/cpu/dispatch_dtype.h"
#include "pyburn/backends/cpu/tiles.h"

namespace pyburn::cpu {

template <class T>
bool is_plain(const TensorHandle& x) {
  return x.dtype() == dtype_of<T> && x.layout().is_contiguous();
}

template <class T>
class PlainInput {
 public:
  explicit PlainInput(const TensorHandle& x) : tensor_(!x.defined() || is_plain<T>(x) ? x : converted(x, dtype_of<T>)) {}
  const T* data() const { return tensor_.defined() ? tensor_.template data<T>() : nullptr; }  // null if an optional input is absent
  const Shape& shape() const { return tensor_.shape(); }

 private:
  TensorHandle tensor_;
};

// The contents of data() are copied to y when this object goes out of scope.
template <class T>
class PlainOutput {
 public:
  explicit PlainOutput(const TensorHandle& y) : target_(y), tensor_(is_plain<T>(y) ? y : scratch(y, dtype_of<T>)) {}
  ~PlainOutput() {
    if (!tensor_.is_same(target_)) convert_into(tensor_, target_);
  }
  PlainOutput(const PlainOutput&) = delete;
  T* data() const { return tensor_.template data<T>(); }
  const Shape& shape() const { return tensor_.shape(); }
  int64_t numel() const { return tensor_.numel(); }

 private:
  TensorHandle target_, tensor_;
};

}  // namespace pyburn::cpu
