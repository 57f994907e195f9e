// Lowering: runs a graph through the door without data and records the operations that a backend would execute.
#pragma once
#include <optional>
#include <vector>

#include "pyburn/graph/lowered.h"
#include "pyburn/ir/graph.h"
#include "pyburn/runtime/device.h"

namespace pyburn {

// A storage of a lowered program.
struct LoweredSlot {
  enum class Role : uint8_t {
    input,     // number `index` of the inputs
    constant,  // number `index` of the constants of the program
    state,     // like a constant, and the program writes to it
    made,      // by the program itself
  };
  Role role;
  int32_t index;
  DType dtype;
  int64_t elements;
};

struct LoweredProgram {
  std::vector<LoweredNode> nodes;
  std::vector<LoweredSlot> slots;
  std::vector<TensorHandle> constants;  // one for each storage, with values
  std::vector<int32_t> of_graph;        // parallel: the first constant of the graph on that storage; -1 for those that lowering made
  std::vector<LoweredOperand> outputs;  // of the graph
  std::vector<Layout> inputs;           // how each is expected to lie
};

// Lowers `graph` for inputs that lie like this, whose shapes determine `extents`, for a backend without decorators. `constants` correspond
// to those of the graph. Empty if the program cannot be prepared: it writes to an input, or a size depends on values.
std::optional<LoweredProgram> lower(const Graph& graph, std::span<const int64_t> extents, std::span<const Layout> inputs,
    std::span<const TensorHandle> constants, Device& device, Backend& backend);

}  // namespace pyburn
