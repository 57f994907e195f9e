// Layers for graphs, under the names and with the parameters of PyTorch Geometric: nodes exchange messages along edges.
#pragma once
#include "pyburn/nn/geometric_edges.h"
#include "pyburn/nn/layer.h"
#include "pyburn/support/format.h"

namespace pyburn::nn::geometric {

// Each node becomes the weighted mean of itself and its neighbours, times a matrix. The attributes of edges are their weights.
struct GCNConvConfig {
  int64_t in_channels = 1, out_channels = 1;
  bool improved = false;  // loops weigh 2
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

// Each node becomes a matrix times the reduced neighbours, plus a matrix times itself.
struct SAGEConvConfig {
  int64_t in_channels = 1, out_channels = 1;
  std::string aggr = "mean";  // or "max", "sum", "min", "mul"
  bool normalize = false, root_weight = true;
  bool project = false;  // neighbours pass a linear layer and relu first
  bool bias = true;
  int64_t target_channels = 0;  // of targets that are nodes of another kind; 0: as in_channels
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

// Each node becomes a mean of itself and its neighbours, weighted by attention, in several heads.
struct GATConvConfig {
  int64_t in_channels = 1, out_channels = 1, heads = 1;
  bool concat = true;  // the heads side by side; or their mean
  double negative_slope = 0.2, dropout = 0;
  bool add_self_loops = true;
  int64_t edge_dim = 0;  // what an edge carries, where that counts
  bool bias = true, residual = false;
  int64_t target_channels = 0;  // of targets that are nodes of another kind; 0: there is one kind of nodes
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
  LoopFill loop_fill{.number = 1, .tensor = {}, .reduce = "mean"};  // what added loops carry

 private:
  TensorHandle attend(const TensorHandle& sources, const TensorHandle& targets, const Edges& edges, int64_t targets_count);
  TensorHandle heads_of(const char* linear, const TensorHandle& x);
};

// Each node becomes network((1 + eps) * itself + the sum of its neighbours).
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

// One row per graph from those of its nodes; `batch` says which graph a node is in.
TensorHandle global_add_pool(const TensorHandle& x, const TensorHandle& batch, std::optional<int64_t> graphs = {});
TensorHandle global_mean_pool(const TensorHandle& x, const TensorHandle& batch, std::optional<int64_t> graphs = {});
TensorHandle global_max_pool(const TensorHandle& x, const TensorHandle& batch, std::optional<int64_t> graphs = {});

// A graph, and several as one that has no edges between them.
struct Data {
  TensorHandle x;  // (nodes, features)
  Edges edges;
  TensorHandle y;  // what is to be learnt: (1, ...), or a row per node
};
struct Batch : Data {
  TensorHandle batch;  // (nodes): the graph of each
  TensorHandle ptr;    // (graphs + 1): where the nodes of each begin
  int64_t num_graphs() const { return ptr.numel() - 1; }
  static Batch from_data_list(const std::vector<Data>& graphs);  // ValueError for none, or where only some have a part
};

}  // namespace pyburn::nn::geometric
