// A graph in which nothing is written to: what a write leaves behind is a new value.
#pragma once
#include "pyburn/ir/graph.h"

namespace pyburn::onnx {

// Writes through views become scatters into the tensor behind them. UnsupportedOp for writes to inputs and constants: the file format has
// no state.
Ref<Graph> without_writes(const Graph& g);

}  // namespace pyburn::onnx
