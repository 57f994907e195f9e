// Tensors and modules that a thread computes with while it does not hold the GIL. What a tensor stands for (its memory, its shape) is
// replaced by some methods (x.data = y, x.t_(), x.resize_()), what a module consists of by assignments: these wait until no other thread
// computes with it.
#pragma once
#include "pyburn/tensor/handle.h"
#include "python_api.h"

namespace pyburn::nn {
class Module;
}

namespace pyburn::python {

class TensorsInUse {  // is made, changed and destroyed with the GIL
 public:
  TensorsInUse() = default;
  ~TensorsInUse();
  TensorsInUse(const TensorsInUse&) = delete;
  void add(const TensorHandle& t);
  void add(const nn::Module& m);  // and what is in it

 private:
  void add_object(const void* object);
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
  void add(bool wanted, const nn::Module& m) {
    if (wanted) used_.add(m);
  }
  TensorsInUse used_;
  GilRelease released_;  // ends first
};

// Waits, with the GIL given up, until no other thread computes with the tensor that `slot` holds, or with the module. Error after ten
// seconds: that thread may be waiting for this one.
void wait_until_unused(const TensorHandle& slot, const char* what);
void wait_until_unused(const nn::Module& m, const char* what);
void watch_replacements();                        // of the core; called once, by the module
void forget_tensors_of_other_threads() noexcept;  // in a forked child

}  // namespace pyburn::python
