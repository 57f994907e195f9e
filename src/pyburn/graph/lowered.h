// Lowered operations: what a stack of backends executes below the door, in program order, on numbered storages. The fusion decorator queues
// such nodes and a session prepares them; the fuse pass divides both.
#pragma once
#include "pyburn/ir/operation.h"

namespace pyburn {

// A tensor of an operation. A view is only its layout.
struct LoweredOperand {
  int32_t slot = -1;  // the index of its storage; -1: an absent optional input
  DType dtype = DType::float32;
  Layout layout;
};

struct LoweredNode {
  Operation op;
  SmallVector<LoweredOperand, 3> in;
  SmallVector<LoweredOperand, 1> out;
};

}  // namespace pyburn
