// Tensor: the class users hold. A TensorHandle with one method per operation; the list is generated from the schemas.
#pragma once
#include <optional>

#include "pyburn/runtime/run.h"
#include "pyburn/tensor/handle.h"

namespace pyburn {

class Generator;

class Tensor : public TensorHandle {
 public:
  Tensor() = default;
  Tensor(TensorHandle h) : TensorHandle(std::move(h)) {}

#include "pyburn/ops/generated/methods.inc"
};

}  // namespace pyburn
