#include "pyburn/nn/message_passing.h"

#include "pyburn/ops/generated/index.h"
#include "pyburn/ops/generated/movement.h"

namespace pyburn::nn::geometric {

EdgeEnds::EdgeEnds(const Edges& edges, const TensorHandle& sources, const TensorHandle& targets, int64_t node_dim, bool reversed)
    : edges_(edges), sources_(sources), targets_(targets), node_dim_(node_dim), reversed_(reversed) {}

// With the flow reversed, messages go from the second end of an edge to the first.
TensorHandle EdgeEnds::source() const { return reversed_ ? rows(targets_, 1) : rows(sources_, 0); }
TensorHandle EdgeEnds::target() const { return reversed_ ? rows(sources_, 0) : rows(targets_, 1); }
TensorHandle EdgeEnds::index() const { return fn::select(edges_.index, 0, reversed_ ? 0 : 1); }

TensorHandle EdgeEnds::rows(const TensorHandle& nodes, int end) const {
  return fn::index_select(nodes, node_dim_, fn::select(edges_.index, 0, end));
}

MessagePassing::MessagePassing(MessagePassingConfig config) : Layer(std::move(config)) {
  const std::string& flow = config_.flow;
  require<ValueError>(flow == "source_to_target" || flow == "target_to_source",
      "Expected flow to be either 'source_to_target' or 'target_to_source' (got '{}')", flow);
}

TensorHandle MessagePassing::propagate(const Edges& edges, const TensorHandle& sources, const TensorHandle& targets) {
  require<ValueError>(edges.index.rank() == 2 && edges.index.shape()[0] == 2, "expected edges as (2, E): got {}", edges.index.shape());
  const bool reversed = config_.flow == "target_to_source";
  const TensorHandle& reached = reversed ? sources : targets;
  const int64_t axis = config_.node_dim < 0 ? config_.node_dim + reached.rank() : config_.node_dim;
  require(axis >= 0 && axis < reached.rank(), "nodes have no dimension {}: got {}", config_.node_dim, reached.shape());
  const EdgeEnds ends(edges, sources, targets, config_.node_dim, reversed);
  return update(aggregate(message(ends), ends.index(), reached.shape()[int(axis)]), reached);
}

TensorHandle MessagePassing::aggregate(const TensorHandle& messages, const TensorHandle& index, int64_t nodes) {
  return scatter(messages, index, config_.node_dim, nodes, config_.aggr);
}

}  // namespace pyburn::nn::geometric
