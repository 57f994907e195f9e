// capture: records a function of tensors as a Graph, without computing.
#pragma once
#include <functional>

#include "pyburn/ir/graph.h"
#include "pyburn/runtime/device.h"

namespace pyburn {

struct CaptureInput {
  Meta meta;  // a size of -1 is dynamic; equal names mean equal sizes
  std::string name;
  std::vector<std::string> extents = {};  // names of dynamic dimensions; "n" by default
  Shape example = {};                     // sizes that the function accepts, by dimension; empty: any
};
struct CaptureOptions {
  std::vector<std::string> output_names;
  std::vector<std::pair<std::string, TensorHandle>> constants;  // names for tensors that the function uses: parameters
  bool simplify = true;                                         // fold constants, drop unused nodes
  bool is_inside = false;  // of a graph inside the one that is being captured: tensors of that one become constants
};
using CapturedFunction = std::function<Tensors(const Tensors& inputs)>;

// Calls `function` with tensors without values on `device`, where the tensors it uses are. Reading a value raises CaptureError. With
// dynamic sizes the function is called several times, at multiples of the example sizes.
Ref<Graph> capture(
    Device& device, const std::vector<CaptureInput>& inputs, const CapturedFunction& function, const CaptureOptions& options = {});

}  // namespace pyburn
