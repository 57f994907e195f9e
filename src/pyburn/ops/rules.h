// Included by the source of every family: the door, gradient contexts, operators. Rules call functions of other families by their plain
// names: those of the generated headers in the library itself, so that a new function compiles little, and the public ones everywhere else.
// Both at once would be ambiguous.
#pragma once
#include "pyburn/ir/grad_context.h"
#include "pyburn/ops/operators.h"
#include "pyburn/runtime/run.h"
#include "pyburn/support/error.h"

#ifdef pyburn_EXPORTS  // defined by CMake for the sources of the library
namespace pyburn {
namespace fn {}
using namespace fn;
using RuleResult = TensorHandle;  // of those functions
}  // namespace pyburn
#else
#include "pyburn/ops/functions.h"
namespace pyburn {
using RuleResult = Tensor;
}
#endif

namespace pyburn {

// Applies function(t) to each tensor.
inline Tensors each(const Tensors& tensors, RuleResult (*function)(const TensorHandle&)) {
  Tensors results;
  for (const TensorHandle& t : tensors) results.push_back(function(t));
  return results;
}

}  // namespace pyburn
