// What the tests of modules share: names of their tensors, and how far tensors are from zero.
#pragma once
#include <gtest/gtest.h>

#include "pyburn/nn/nn.h"
#include "pyburn/ops/functions.h"
#include "pyburn/runtime/transfer.h"
#include "pyburn/start.h"

namespace pyburn {

using Names = std::vector<std::string>;
inline Names names(const nn::NamedTensors& list) {
  Names out;
  for (const auto& [name, t] : list) out.push_back(name);
  return out;
}
inline double largest(const TensorHandle& x) { return read_number(amax(abs(detach(x)))); }

}  // namespace pyburn
