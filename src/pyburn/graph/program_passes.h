// Passes over lowered programs, in the order in which a session applies them.
#pragma once
#include "pyburn/graph/lowering.h"

namespace pyburn {

// Runs what depends on constants alone, once and now. What would take much more memory than it reads stays as it is.
void hoist_constants(LoweredProgram&, Device&, Backend&);
// Drops nodes whose results nobody reads.
void drop_unread(LoweredProgram&);
// Runs of operations become `fused` operations.
void fuse(LoweredProgram&, Backend&);
// An elementwise result takes the storage of an input that nobody needs any more.
void reuse_storages(LoweredProgram&);

// For each slot, the first node that writes it and the last that uses it; outputs are used by nodes.size(). -1: never.
struct SlotUse {
  int32_t first_write = -1, last_use = -1, writes = 0;
};
std::vector<SlotUse> slot_uses(const LoweredProgram&);

}  // namespace pyburn
