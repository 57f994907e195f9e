// RunObserver: learns what a thread does besides operations, while a training step is recorded.
#pragma once
#include "pyburn/runtime/generator.h"
#include "pyburn/tensor/handle.h"

namespace pyburn {

class Backend;

class RunObserver {
 public:
  virtual void values_read(const TensorHandle& x) = 0;  // by the host: what follows may depend on them
  virtual void numbers_reserved(Generator& generator, RandomState start, uint64_t counters) = 0;
  virtual void gradient_replaced(const TensorHandle& leaf) = 0;  // .grad is about to be assigned
  virtual void backward_ran() = 0;
  virtual bool keeps(const Storage& s) const = 0;       // holds one reference itself, which does not count as a use
  virtual bool is_top(const Backend& level) const = 0;  // stands for the whole stack of the device: autocast applies

 protected:
  ~RunObserver() = default;
};

RunObserver* run_observer();  // of this thread; null unless it records

class ObserverScope {
 public:
  explicit ObserverScope(RunObserver& observer);
  ~ObserverScope();
  ObserverScope(const ObserverScope&) = delete;

 private:
  RunObserver* previous_;
};

// For values that are read again in each run of a recorded step, such as a learning rate that is a tensor.
class UnobservedScope {
 public:
  UnobservedScope();
  ~UnobservedScope();
  UnobservedScope(const UnobservedScope&) = delete;

 private:
  RunObserver* observer_;
};

}  // namespace pyburn
