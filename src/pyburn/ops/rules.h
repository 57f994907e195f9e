// What every family's source includes: the door, gradient contexts and the functions that rules are written in.
#pragma once
#include "pyburn/ir/grad_context.h"
#include "pyburn/ops/functions.h"
#include "pyburn/ops/operators.h"
#include "pyburn/runtime/run.h"
#include "pyburn/support/error.h"

namespace pyburn {

// function(t) of each tensor.
inline Tensors each(const Tensors& tensors, Tensor (*function)(const TensorHandle&)) {
  Tensors results;
  for (const TensorHandle& t : tensors) results.push_back(function(t));
  return results;
}

}  // namespace pyburn
