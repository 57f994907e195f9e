// Graph: a list of operations on numbered values, used by fusion, sessions, remote execution and deployment.
#pragma once
#include <functional>
#include <vector>

#include "pyburn/ir/extent_expression.h"
#include "pyburn/ir/operation.h"

namespace pyburn {

using ValueId = int32_t;  // -1: an absent optional input

// An integer of an operation that depends on dynamic sizes. `slot` counts the integers of the attributes in field order.
struct ExtentPatch {
  int32_t slot;
  ExtentExpression value;
  bool operator==(const ExtentPatch&) const = default;
};

// A dynamic dimension of an input.
struct FreeAxis {
  int32_t input, axis, extent;
  bool operator==(const FreeAxis&) const = default;
};

// An axis of a value whose extent is unknown before the value is made: the number of elements that are not zero.
struct UnknownAxis {
  ValueId value;
  int32_t axis, extent;
  bool operator==(const UnknownAxis&) const = default;
};

struct GraphNode {
  Operation op;
  SmallVector<ValueId, 4> in, out;
  bool writes = false;               // the outputs are existing values that the operation writes to
  std::vector<ExtentPatch> patches;  // for dynamic sizes other than the captured ones
};

class Graph : public Counted {
 public:
  std::vector<Meta> values;  // shape and dtype of each value, at the captured size
  std::vector<ValueId> inputs, outputs;
  std::vector<std::string> input_names, output_names;
  std::vector<std::pair<ValueId, TensorHandle>> constants;
  std::vector<std::string> constant_names;  // corresponds to constants; may be empty strings
  std::vector<GraphNode> nodes;
  std::vector<std::pair<ValueId, ValueId>> updates;  // (state, new value): assigned after a run
  std::vector<std::string> extents;                  // names of the dynamic sizes
  std::vector<FreeAxis> free_axes;
  std::vector<UnknownAxis> unknown_axes;  // in the order in which they become known

  ValueId add_value(Meta m) {
    values.push_back(std::move(m));
    return ValueId(values.size()) - 1;
  }
};

// A graph that an operation runs, as a field of its attributes: equal when the graphs are.
struct SubGraph : Ref<Graph> {
  using Ref::Ref;
  SubGraph(Ref<Graph> g) : Ref(std::move(g)) {}
  bool operator==(const SubGraph& o) const;
};
// The graphs inside an operation, in field order; empty for almost all.
SmallVector<Ref<Graph>, 2> sub_graphs(OpRef);
// The operation with each of its graphs replaced by what `change` makes of it.
Operation with_sub_graphs(const Operation&, const std::function<Ref<Graph>(const Graph&)>& change);
// Does the operation, or one in the graphs inside it, draw random numbers?
bool draws_random_numbers(OpRef);

Ref<Graph> copy_of(const Graph&);  // operations and constants are shared
// Values are defined before use, and all indices are in range. FormatError otherwise.
void check(const Graph&);
uint64_t hash(const Graph&);  // structure only, without the contents of constants
bool operator==(const Graph&, const Graph&);
std::string to_text(const Graph&);  // one line per node

}  // namespace pyburn
