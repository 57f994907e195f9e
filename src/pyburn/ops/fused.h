// A whole sub-graph as one operation: what the fusion decorator and sessions hand to a backend.
#pragma once
#include "pyburn/ir/graph.h"

namespace pyburn {

// The body is in single-assignment form: no node writes into an existing value. Its inputs and outputs are, in order,
// those of the operation. What the fuse pass builds is a chain of elementwise nodes over one shape, of which the last
// one may be a reduction over trailing axes; before it may stand a product or a convolution, whose result is among the inputs of the
// chain, if need be through a view of its shape. Backends may rely on nothing but the graph itself.
struct Fused {
  Ref<Graph> body;
  PB_FIELDS(body)
};

namespace op {
extern OpInfo fused;
}

}  // namespace pyburn
