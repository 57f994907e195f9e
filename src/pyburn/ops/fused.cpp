// A whole sub-graph as one operation.
#include "pyburn/ops/fused.h"

#include "pyburn/runtime/graph_run.h"

namespace pyburn {
namespace {

MetaList infer(const Fused& a, Metas in) {
  require<ValueError>(bool(a.body), "expected a graph: got none");
  require<ValueError>(a.body->inputs.size() == in.size(), "wrong number of inputs: got {}, expected {}", int64_t(in.size()),
      int64_t(a.body->inputs.size()));
  for (size_t i = 0; i < in.size(); ++i) {
    const Meta& wanted = a.body->values[size_t(a.body->inputs[i])];
    require(in[i].shape == wanted.shape, "an input does not match the graph: got {}, expected {}", in[i].shape, wanted.shape);
    require<DTypeError>(in[i].dtype == wanted.dtype, "an input does not match the graph: got {}, expected {}", in[i].dtype, wanted.dtype);
  }
  MetaList out;
  for (ValueId v : a.body->outputs) out.push_back(a.body->values[size_t(v)]);
  return out;
}

Tensors replay(const Fused& a, Inputs in) { return run_graph(*a.body, in); }

}  // namespace

namespace op {
constinit OpInfo fused = define<Fused, infer, nullptr, replay>({.schema = "fused(Tensor[] tensors) -> Tensor[]",
    .doc = "A sub-graph as one operation; made by the fuse pass.",
    .no_grad = "made below autodiff, which has recorded the operations of the body"});
}

void register_fused(OpTable& table) { table.add({&op::fused}); }

}  // namespace pyburn
