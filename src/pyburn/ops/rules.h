// What every family's source includes: the door, gradient contexts, operators. Rules call the functions of other families
// by their plain names, from the generated headers.
#pragma once
#include "pyburn/ir/grad_context.h"
#include "pyburn/ops/operators.h"
#include "pyburn/runtime/run.h"
#include "pyburn/support/error.h"

namespace pyburn {

namespace fn {}
using namespace fn;

// function(t) of each tensor.
inline Tensors each(const Tensors& tensors, TensorHandle (*function)(const TensorHandle&)) {
  Tensors results;
  for (const TensorHandle& t : tensors) results.push_back(function(t));
  return results;
}

}  // namespace pyburn
