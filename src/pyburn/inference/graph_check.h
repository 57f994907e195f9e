// Validates graphs from files, which are untrusted: checks every node by the rules of the door before anything runs.
#pragma once
#include "pyburn/ir/graph.h"
#include "pyburn/runtime/device.h"

namespace pyburn {

// Runs the graph at its captured size on the null backend, with the layouts of `device`: checks inference, dtypes, views and writes without
// data. Values must have the stated shapes and dtypes. FormatError names the first invalid node.
void check_nodes(const Graph&, Device& device);

}  // namespace pyburn
