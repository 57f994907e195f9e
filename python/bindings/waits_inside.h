// Threads that gave up the GIL in the middle of a small operation, to wait for a lock or to give others a turn: it is not recorded which
// tensors they compute with.
#pragma once
#include "python_api.h"

namespace pyburn::python {

inline int threads_that_wait_inside = 0;  // changes only with the GIL

class WaitsInside {
 public:
  explicit WaitsInside(bool has_gil) : counted_(has_gil) { threads_that_wait_inside += counted_; }
  ~WaitsInside() { threads_that_wait_inside -= counted_; }
  WaitsInside(const WaitsInside&) = delete;

 private:
  int counted_;
};

}  // namespace pyburn::python
