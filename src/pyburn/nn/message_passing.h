// MessagePassing: base class of graph layers that define the message, its aggregation per node, and the update.
//
//   class Distances : public nn::geometric::MessagePassing {
//    public:
//     PB_MODULE(Distances)
//     TensorHandle message(const EdgeEnds& edge) override { return abs(edge.target() - edge.source()); }
//   };
#pragma once
#include "pyburn/nn/geometric_edges.h"
#include "pyburn/nn/layer.h"

namespace pyburn::nn::geometric {

struct MessagePassingConfig {
  std::string aggr = "sum";               // or "mean", "max", "min", "mul"
  std::string flow = "source_to_target";  // or "target_to_source"
  int64_t node_dim = -2;                  // the node dimension
  PB_FIELDS(aggr, flow, node_dim)
  static constexpr LayerText text{.printed = false};
};

// Access to both ends of all edges: one row per edge, gathered on demand.
class EdgeEnds {
 public:
  EdgeEnds(const Edges& edges, const TensorHandle& sources, const TensorHandle& targets, int64_t node_dim, bool reversed);
  TensorHandle source() const;  // the source node of the message: x_j
  TensorHandle target() const;  // the target node: x_i
  const TensorHandle& attr() const { return edges_.attr; }
  TensorHandle index() const;  // the index of the target node of each message

 private:
  TensorHandle rows(const TensorHandle& nodes, int end) const;
  const Edges& edges_;
  const TensorHandle &sources_, &targets_;
  int64_t node_dim_;
  bool reversed_;
};

class MessagePassing : public Layer<MessagePassingConfig> {
 public:
  explicit MessagePassing(MessagePassingConfig config = {});
  MessagePassing(MessagePassingConfig config, Unfilled) : Layer(std::move(config)) {}
  PB_MODULE(MessagePassing)

  // message() for all edges, aggregate() for each node, update(). Sources and targets may be nodes of two types.
  TensorHandle propagate(const Edges& edges, const TensorHandle& x) { return propagate(edges, x, x); }
  TensorHandle propagate(const Edges& edges, const TensorHandle& sources, const TensorHandle& targets);
  using Module::forward;
  TensorHandle forward(const TensorHandle& x, const Edges& edges) { return propagate(edges, x); }

  virtual TensorHandle message(const EdgeEnds& edges) { return edges.source(); }
  virtual TensorHandle aggregate(const TensorHandle& messages, const TensorHandle& index, int64_t nodes);
  // `aggregated` has a row for each of the nodes `x`.
  virtual TensorHandle update(const TensorHandle& aggregated, const TensorHandle& x) { return (void)x, aggregated; }
};

}  // namespace pyburn::nn::geometric
