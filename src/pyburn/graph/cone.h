// A part of a graph that computes one value from another: what passes recognise functions by that users wrote out.
#pragma once
#include <functional>
#include <optional>

#include "pyburn/graph/graph_editor.h"

namespace pyburn {

struct Cone {
  ValueId from, to;
  std::vector<int32_t> nodes;  // in order
};

// Calls take(cone) for values `from` that are used several times on the way to `to` and from which, with constants, all of it follows,
// until it says true. Nodes are those that `belongs` accepts; they write nothing and have no free extents.
void for_each_cone(
    const GraphEditor&, ValueId to, const std::function<bool(const GraphNode&)>& belongs, const std::function<bool(const Cone&)>& take);

// What the cone makes of a tensor on the device of the constants; undefined where that fails.
TensorHandle evaluate(const GraphEditor&, const Cone&, const TensorHandle& from);
// Are a and b, float32 of equal shapes on the CPU, equal but for rounding: |a - b| <= tolerance * (1 + |b|)?
bool agree(const TensorHandle& a, const TensorHandle& b, double tolerance);

}  // namespace pyburn
