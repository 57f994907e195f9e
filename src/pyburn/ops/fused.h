// A subgraph as one operation: the fusion decorator and sessions pass it to a backend.
#pragma once
#include "pyburn/ir/graph.h"

namespace pyburn {

// The body is in single-assignment form: no node writes to an existing value. Its inputs and outputs are, in order, those of the operation.
// The fuse pass builds chains of element-wise nodes over one shape, optionally followed by a reduction over trailing dimensions, and
// optionally preceded by a product or a convolution, whose result enters the chain directly or as a view. Backends may rely on nothing but
// the graph itself.
struct Fused {
  Ref<Graph> body;
  PB_FIELDS(body)
};

namespace op {
extern OpInfo fused;
}

}  // namespace pyburn
