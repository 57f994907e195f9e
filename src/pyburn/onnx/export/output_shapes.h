// The sizes of a graph's outputs, as an ONNX file states them.
#pragma once
#include "pyburn/ir/graph.h"
#include "pyburn/onnx/model_proto.h"

namespace pyburn::onnx {

// For each output its sizes: numbers, sums of free extents such as "batch" or "2*time + 1", and names of their own for what follows in
// other ways. An output is missing where the shapes follow from values.
std::vector<std::optional<std::vector<Extent>>> output_shapes(const Graph& graph, const std::vector<std::string>& output_names);

}  // namespace pyburn::onnx
