// What a stack of backends is asked to do, seen from below the door: operations in program order on numbered storages. The fusion
// decorator queues such nodes, a session prepares them; the fuse pass cuts both.
#pragma once
#include "pyburn/ir/operation.h"

namespace pyburn {

// A tensor as an operation sees it. A view is nothing but its layout.
struct LoweredOperand {
  int32_t slot = -1;  // the number of its storage; -1: an absent optional input
  DType dtype = DType::float32;
  Layout layout;
};

struct LoweredNode {
  Operation op;
  SmallVector<LoweredOperand, 3> in;
  SmallVector<LoweredOperand, 1> out;
};

}  // namespace pyburn
