// A section of a fused body as a linear list of instructions on tiles, which one thread executes for every kTile elements.
#pragma once
#include <optional>
#include <vector>

#include "pyburn/backends/cpu/kernel_table.h"
#include "pyburn/ir/graph.h"

namespace pyburn::cpu {

// Each register holds one tile and is assigned once. A graph value keeps its own dtype; if a node computes in another dtype (float16 as
// float32), its operands are converted before it and its result after it, exactly as between unfused operations. So fusion never changes a
// result.
struct Instruction {
  enum class Action : uint8_t {
    load,        // loads a tile of input `input` with dtype `from` as dtype `to`
    compute,     // out = fn(in...)
    to_compute,  // out = in[0], converted from a storage dtype to a compute dtype
    to_storage,  // the reverse conversion
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
  int made_by;      // index of the instruction that writes it
  int last_use;     // index of the last instruction that reads it; code.size() for results
  int buffer = -1;  // registers with disjoint lifetimes share a buffer
};

// The nodes of a body from `begin` on, the values they read and the values they produce.
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
  std::vector<int> results;              // register of each element-wise output, in the order of the section's outputs
  std::vector<int> last_read;            // per input: the last instruction that may read its memory
  const GraphNode* reduction = nullptr;  // the last node, if it reduces the tiles
  int folded = -1;                       // the register that it reduces, in its compute dtype
};

// Empty if a node has no tile function or the section does not have the form described in ops/fused.h; it is then replayed. `constant`
// marks inputs with the same value for every element: they are loaded once and keep their buffers.
std::optional<Program> compile(const Section&, const KernelTable&, std::span<const bool> constant);

}  // namespace pyburn::cpu
