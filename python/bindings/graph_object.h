// The Python object of a graph.
#pragma once
#include "pyburn/ir/graph.h"

namespace pyburn::python {

struct GraphObject {
  Ref<Graph> graph;
};

}  // namespace pyburn::python
