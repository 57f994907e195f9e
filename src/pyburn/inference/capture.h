// capture: a function of tensors becomes a Graph, without computing anything.
#pragma once
#include <functional>

#include "pyburn/ir/graph.h"
#include "pyburn/runtime/device.h"

namespace pyburn {

struct CaptureInput {
  Meta meta;  // an extent of -1 is free, and the same number wherever its name is the same
  std::string name;
  std::vector<std::string> extents = {};  // names by axis, where there are several; "n" where there is none
  Shape example = {};                     // sizes that the function takes, by axis; empty: any do
};
struct CaptureOptions {
  std::vector<std::string> output_names;
  std::vector<std::pair<std::string, TensorHandle>> constants;  // names for tensors that the function uses: parameters
  bool simplify = true;                                         // fold constants, drop what nobody reads
  bool is_inside = false;  // of a graph inside the one that is being captured: tensors of that one become constants
};
using CapturedFunction = std::function<Tensors(const Tensors& inputs)>;

// Calls `function` with tensors that have no values, on `device`, where the tensors it uses live. Reading a value
// raises CaptureError. With free extents the function is called a few times, at sizes that are multiples of the examples.
Ref<Graph> capture(
    Device& device, const std::vector<CaptureInput>& inputs, const CapturedFunction& function, const CaptureOptions& options = {});

}  // namespace pyburn
