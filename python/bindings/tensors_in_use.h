// Tensors that a thread computes with while it does not hold the GIL. What a tensor object stands for (its memory, its shape) is replaced
// by some methods (x.data = y, x.t_(), x.resize_()): these wait until no other thread computes with the tensor.
#pragma once
#include "pyburn/tensor/handle.h"
#include "python_api.h"

namespace pyburn::python {

class TensorsInUse {  // is made, changed and destroyed with the GIL
 public:
  TensorsInUse() = default;
  ~TensorsInUse();
  TensorsInUse(const TensorsInUse&) = delete;
  void add(const TensorHandle& t);

 private:
  bool any_ = false;
};

// Gives up the GIL where that is wanted, to compute with these tensors.
class ComputesWith {
 public:
  template <class... T>
  explicit ComputesWith(bool wanted, const T&... tensors) : released_((add(wanted, tensors), ..., wanted)) {}

 private:
  void add(bool wanted, const TensorHandle& t) {
    if (wanted) used_.add(t);
  }
  void add(bool wanted, std::span<const TensorHandle> list) {
    for (const TensorHandle& t : list) add(wanted, t);
  }
  TensorsInUse used_;
  GilRelease released_;  // ends first
};

// Waits, with the GIL given up, until no other thread computes with the tensor that `slot` holds. Error after ten seconds: that thread may
// be waiting for this one.
void wait_until_unused(const TensorHandle& slot, const char* what);
void forget_tensors_of_other_threads() noexcept;  // in a forked child

}  // namespace pyburn::python
