// A graph that comes from a file is untrusted: checks every node by the rules of the door, before anything runs.
#pragma once
#include "pyburn/ir/graph.h"
#include "pyburn/runtime/device.h"

namespace pyburn {

// Runs the graph at its captured size on the null backend, as `device` would: inference, dtypes, layouts of views and writes are checked,
// no data is touched. Values must have the shapes and dtypes that the graph states. FormatError names the first node that fails.
void check_nodes(const Graph&, Device& device);

}  // namespace pyburn
