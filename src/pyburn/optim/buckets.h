// Parameters that one optimiser operation may update together: same dtype and device, same moment of their history.
#pragma once
#include <vector>

#include "pyburn/tensor/handle.h"

namespace pyburn::optim {

struct Bucket {
  DType dtype;
  Device* device;
  int64_t moment;               // what else must agree: the step count, or whether a buffer is new
  std::vector<size_t> members;  // positions in the caller's list, in order
};

// `moment(i)` of the parameters; those without a gradient are left out.
template <class Moment>
std::vector<Bucket> buckets(const std::vector<TensorHandle>& parameters, const std::vector<TensorHandle>& gradients, Moment moment) {
  std::vector<Bucket> found;
  for (size_t i = 0; i < parameters.size(); ++i) {
    if (!gradients[i].defined()) continue;
    const TensorHandle& p = parameters[i];
    const int64_t m = moment(i);
    Bucket* home = nullptr;
    for (Bucket& b : found)
      if (b.dtype == p.dtype() && b.device == &p.device() && b.moment == m) home = &b;
    if (!home) home = &found.emplace_back(Bucket{p.dtype(), &p.device(), m, {}});
    home->members.push_back(i);
  }
  return found;
}

}  // namespace pyburn::optim
