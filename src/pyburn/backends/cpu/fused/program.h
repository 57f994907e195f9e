// A section of a fused body as a straight list of instructions on tiles: what one thread does for every kTile elements.
#pragma once
#include <optional>
#include <vector>

#include "pyburn/backends/cpu/kernel_table.h"
#include "pyburn/ir/graph.h"

namespace pyburn::cpu {

// Registers hold a tile each and are assigned once. A value of the graph is kept in its own dtype; where a node
// computes in another one (float16 as float32), its operands are converted before it and its result after it, exactly
// as they are between unfused operations. So fusion never changes a result.
struct Instruction {
  enum class Action : uint8_t {
    load,        // tile of input `input`, dtype `from`, as dtype `to`
    compute,     // out = fn(in...)
    to_compute,  // out = in[0], from a storage dtype to a compute dtype
    to_storage,  // and back
  };
  Action action;
  DType from, to;
  int in[3] = {-1, -1, -1};
  int out = -1;
  int input = -1;
  TileFn fn = nullptr;
  const void* attrs = nullptr;
};

struct Register {
  DType dtype;
  int made_by;      // index of the instruction
  int last_use;     // index of the last instruction that reads it; code.size() when it is a result
  int buffer = -1;  // registers that do not live at the same time share one
};

// The nodes of a body from `begin` on, the values that they need and those that they give.
struct Section {
  const Graph& body;
  size_t begin = 0;
  SmallVector<ValueId, 8> inputs, outputs;

  std::span<const GraphNode> nodes() const { return std::span(body.nodes).subspan(begin); }
  const Shape& shape(ValueId v) const { return body.values[size_t(v)].shape; }
};

struct Program {
  std::vector<Instruction> code;
  std::vector<Register> registers;
  int buffers = 0;
  std::vector<int> results;              // register of each elementwise output, in the order of the section's outputs
  std::vector<int> last_read;            // per input: the last instruction that may read its memory
  const GraphNode* reduction = nullptr;  // the last node, when it folds what the tiles hold
  int folded = -1;                       // the register that it folds, in its compute dtype
};

// Absent when a node has no tile function, or the section is not of the form that ops/fused.h describes: it is then
// replayed. `constant` marks inputs that are the same for every element; they are loaded once, so their buffers stay.
std::optional<Program> compile(const Section&, const KernelTable&, std::span<const bool> constant);

}  // namespace pyburn::cpu
