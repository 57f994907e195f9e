// Graph: a list of operations on numbered values. Fusion, sessions, ONNX, remote execution and deployment share it.
#pragma once
#include <vector>

#include "pyburn/ir/extent_expression.h"
#include "pyburn/ir/operation.h"

namespace pyburn {

using ValueId = int32_t;  // -1: an absent optional input

// A number inside an operation that depends on free extents. `slot` counts the integers of the attributes in field order.
struct ExtentPatch {
  int32_t slot;
  ExtentExpression value;
  bool operator==(const ExtentPatch&) const = default;
};

// Where an input has a free extent.
struct FreeAxis {
  int32_t input, axis, extent;
  bool operator==(const FreeAxis&) const = default;
};

struct GraphNode {
  Operation op;
  SmallVector<ValueId, 4> in, out;
  bool writes = false;               // the outputs are existing values that the operation writes into
  std::vector<ExtentPatch> patches;  // for other free extents than those of the capture
};

class Graph : public Counted {
 public:
  std::vector<Meta> values;  // shape and dtype of each value, at the captured size
  std::vector<ValueId> inputs, outputs;
  std::vector<std::string> input_names, output_names;
  std::vector<std::pair<ValueId, TensorHandle>> constants;
  std::vector<std::string> constant_names;  // parallel to constants; may be empty strings
  std::vector<GraphNode> nodes;
  std::vector<std::pair<ValueId, ValueId>> updates;  // (state, new value): written back after a run
  std::vector<std::string> extents;                  // names of the free extents
  std::vector<FreeAxis> free_axes;

  ValueId add_value(Meta m) {
    values.push_back(std::move(m));
    return ValueId(values.size()) - 1;
  }
};

Ref<Graph> copy_of(const Graph&);  // operations and constants are shared
// Every value is made before it is used, and every number is in range. FormatError otherwise.
void check(const Graph&);
uint64_t hash(const Graph&);  // structure only: no constants' contents
bool operator==(const Graph&, const Graph&);
std::string to_text(const Graph&);  // one line per node

}  // namespace pyburn
