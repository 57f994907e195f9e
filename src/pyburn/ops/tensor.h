// Tensor: the class for users. A TensorHandle with one method per operation, generated from the schemas. The library itself uses handles,
// so that a new method recompiles only its users.
#pragma once
#include <optional>

#include "pyburn/runtime/run.h"
#include "pyburn/tensor/handle.h"

namespace pyburn {

class Generator;

class Tensor;
template <int N>
using Results = std::array<Tensor, N>;  // auto [values, indices] = sort(x);

class Tensor : public TensorHandle {
 public:
  Tensor() = default;
  Tensor(TensorHandle h) : TensorHandle(std::move(h)) {}

#include "pyburn/ops/generated/methods.inc"
};

template <size_t N>
std::array<Tensor, N> as_tensors(std::array<TensorHandle, N> handles) {
  std::array<Tensor, N> tensors;
  for (size_t i = 0; i < N; ++i) tensors[i] = std::move(handles[i]);
  return tensors;
}

}  // namespace pyburn
