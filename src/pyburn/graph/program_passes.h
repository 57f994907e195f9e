// Passes on lowered programs, in the order in which a session applies them.
#pragma once
#include "pyburn/graph/lowering.h"

namespace pyburn {

// Constant folding: runs operations on constants once. Results that take much more memory than their inputs are not folded.
void hoist_constants(LoweredProgram&, Device&, Backend&);
// Removes nodes whose results are not read.
void drop_unread(LoweredProgram&);
// Fuses runs of operations to `fused` operations.
void fuse(LoweredProgram&, Backend&);
// In-place reuse: an element-wise result takes the storage of an input that is not needed any more.
void reuse_storages(LoweredProgram&);

// For each slot, the first node that writes it and the last that uses it; nodes.size() uses the outputs. -1: none.
struct SlotUse {
  int32_t first_write = -1, last_use = -1, writes = 0;
};
std::vector<SlotUse> slot_uses(const LoweredProgram&);

}  // namespace pyburn
