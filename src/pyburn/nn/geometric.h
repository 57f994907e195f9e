// Graph neural network layers with the names and parameters of PyTorch Geometric: nodes exchange messages along edges.
#pragma once
#include "pyburn/nn/geometric_edges.h"
#include "pyburn/nn/layer.h"
#include "pyburn/support/format.h"

namespace pyburn::nn::geometric {

// Graph convolution: each node becomes the weighted mean of itself and its neighbours, times a matrix. Edge attributes are weights.
struct GCNConvConfig {
  int64_t in_channels = 1, out_channels = 1;
  bool improved = false;  // self-loops have weight 2
  bool add_self_loops = true, normalize = true;
  bool bias = true;
  PB_FIELDS(in_channels, out_channels, improved, add_self_loops, normalize, bias)
  std::string extra_repr() const { return format("{}, {}", in_channels, out_channels); }
  static constexpr LayerText text{.required = 2};
};
class GCNConv : public Layer<GCNConvConfig> {
 public:
  explicit GCNConv(GCNConvConfig config, Placement placement = {});
  using Module::forward;
  TensorHandle forward(const TensorHandle& x, const Edges& edges);
  void reset_parameters();
  PB_MODULE(GCNConv)
};

// GraphSAGE: a matrix times the aggregated neighbours, plus a matrix times the node itself.
struct SAGEConvConfig {
  int64_t in_channels = 1, out_channels = 1;
  std::string aggr = "mean";  // or "max", "sum", "min", "mul"
  bool normalize = false, root_weight = true;
  bool project = false;  // neighbours first pass through a linear layer and relu
  bool bias = true;
  int64_t target_channels = 0;  // features of target nodes of another type; 0: as in_channels
  PB_FIELDS(in_channels, out_channels, aggr, normalize, root_weight, project, bias, target_channels)
  std::string extra_repr() const { return format("{}, {}, aggr={}", in_channels, out_channels, aggr); }
  static constexpr LayerText text{.required = 2};
};
class SAGEConv : public Layer<SAGEConvConfig> {
 public:
  explicit SAGEConv(SAGEConvConfig config, Placement placement = {});
  using Module::forward;
  TensorHandle forward(const TensorHandle& x, const Edges& edges) { return forward(x, x, edges); }
  TensorHandle forward(const TensorHandle& sources, const TensorHandle& targets, const Edges& edges);
  void reset_parameters();
  PB_MODULE(SAGEConv)
};

// Graph attention: each node becomes an attention-weighted mean of itself and its neighbours, in several heads.
struct GATConvConfig {
  int64_t in_channels = 1, out_channels = 1, heads = 1;
  bool concat = true;  // concatenates the heads instead of averaging them
  double negative_slope = 0.2, dropout = 0;
  bool add_self_loops = true;
  int64_t edge_dim = 0;  // edge features, if they are used
  bool bias = true, residual = false;
  int64_t target_channels = 0;  // features of target nodes of another type; 0: there is one type of nodes
  PB_FIELDS(in_channels, out_channels, heads, concat, negative_slope, dropout, add_self_loops, edge_dim, bias, residual, target_channels)
  std::string extra_repr() const { return format("{}, {}, heads={}", in_channels, out_channels, heads); }
  static constexpr LayerText text{.required = 2};
};
class GATConv : public Layer<GATConvConfig> {
 public:
  explicit GATConv(GATConvConfig config, Placement placement = {});
  using Module::forward;
  TensorHandle forward(const TensorHandle& x, const Edges& edges);
  TensorHandle forward(const TensorHandle& sources, const TensorHandle& targets, const Edges& edges);
  void reset_parameters();
  PB_MODULE(GATConv, loop_fill.tensor)
  LoopFill loop_fill{.number = 1, .tensor = {}, .reduce = "mean"};  // the attributes of added self-loops

 private:
  TensorHandle attend(const TensorHandle& sources, const TensorHandle& targets, const Edges& edges, int64_t targets_count);
  TensorHandle heads_of(const char* linear, const TensorHandle& x);
};

// GIN: network((1 + eps) * node + the sum of its neighbours).
struct GINConvConfig {
  double eps = 0;
  bool train_eps = false;
  PB_FIELDS(eps, train_eps)
  static constexpr LayerText text{};
};
class GINConv : public Layer<GINConvConfig> {
 public:
  explicit GINConv(Ref<Module> network, GINConvConfig config = {}, Placement placement = {});
  using Module::forward;
  TensorHandle forward(const TensorHandle& x, const Edges& edges);
  std::string extra_repr() const override { return {}; }
  PB_MODULE(GINConv)
};

// Pools nodes to one row per graph; `batch` is the graph index of each node.
TensorHandle global_add_pool(const TensorHandle& x, const TensorHandle& batch, std::optional<int64_t> graphs = {});
TensorHandle global_mean_pool(const TensorHandle& x, const TensorHandle& batch, std::optional<int64_t> graphs = {});
TensorHandle global_max_pool(const TensorHandle& x, const TensorHandle& batch, std::optional<int64_t> graphs = {});

// A graph, and a batch of graphs as one disconnected graph.
struct Data {
  TensorHandle x;  // (nodes, features)
  Edges edges;
  TensorHandle y;  // targets: (1, ...), or a row per node
};
struct Batch : Data {
  TensorHandle batch;  // (nodes): the graph index of each node
  TensorHandle ptr;    // (graphs + 1): the first node of each graph
  int64_t num_graphs() const { return ptr.numel() - 1; }
  static Batch from_data_list(const std::vector<Data>& graphs);  // ValueError for an empty list, or if only some graphs have an attribute
};

}  // namespace pyburn::nn::geometric
