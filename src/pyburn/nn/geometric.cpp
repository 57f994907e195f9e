#include "pyburn/nn/geometric.h"

#include <cmath>

#include "pyburn/nn/init.h"
#include "pyburn/nn/linear.h"
#include "pyburn/nn/parts.h"
#include "pyburn/ops/generated/activation.h"
#include "pyburn/ops/generated/dropout.h"
#include "pyburn/ops/generated/fill.h"
#include "pyburn/ops/generated/index.h"
#include "pyburn/ops/generated/join.h"
#include "pyburn/ops/generated/movement.h"
#include "pyburn/ops/generated/normalisation.h"
#include "pyburn/ops/generated/reduce.h"
#include "pyburn/ops/operators.h"

namespace pyburn::nn::geometric {
namespace {

// Uniform, by the two last extents.
void glorot_(const TensorHandle& t) {
  const int rank = t.rank();
  const double bound = std::sqrt(6.0 / double(t.shape()[rank - 2] + t.shape()[rank - 1]));
  init::uniform_(t, -bound, bound);
}
void glorot_children_(Module& layer) {
  for (const auto& [name, linear] : layer.named_children()) glorot_(needed(*linear, "weight"));
}

void check_edges(const Edges& edges) {
  require<ValueError>(edges.index.rank() == 2 && edges.index.shape()[0] == 2, "expected edges as (2, E): got {}", edges.index.shape());
}

// What arrives in each node from the sources of its edges, each times the weight of the edge.
TensorHandle gathered(
    const TensorHandle& x, const Edges& edges, int64_t nodes, const std::string& reduce, const TensorHandle& weights = {}) {
  check_edges(edges);
  const TensorHandle messages = fn::index_select(x, 0, edges.sources());
  return scatter(weights.defined() ? messages * weights : messages, edges.targets(), 0, nodes, reduce);
}

TensorHandle with_bias(const Module& layer, const TensorHandle& x) {
  const TensorHandle bias = layer.tensor("bias");
  return bias.defined() ? x + bias : x;
}

TensorHandle pooled(const TensorHandle& x, const TensorHandle& batch, std::optional<int64_t> graphs, const char* reduce) {
  return scatter(x, batch, x.rank() == 1 ? -1 : -2, graphs, reduce);
}

}  // namespace

GCNConv::GCNConv(GCNConvConfig config, Placement p) : Layer(std::move(config)) {
  require<ValueError>(config_.normalize || !config_.add_self_loops, "add_self_loops=True requires normalize=True");
  register_parameter("bias", config_.bias ? Parameter(fn::zeros({config_.out_channels}, p.dtype, p.device)) : TensorHandle());
  register_module("lin", make_ref<Linear>(config_.in_channels, config_.out_channels, false, p));
  reset_parameters();
}
void GCNConv::reset_parameters() {
  glorot_children_(*this);
  if (const TensorHandle bias = tensor("bias"); bias.defined()) init::constant_(bias, 0);
}
TensorHandle GCNConv::forward(const TensorHandle& x, const Edges& given) {
  check_edges(given);
  const int64_t nodes = x.shape()[0];
  const Edges edges = config_.normalize ? gcn_norm(given, {nodes, config_.improved, config_.add_self_loops, false, x.dtype()}) : given;
  const TensorHandle weights = edges.attr.defined() ? fn::reshape(edges.attr, {-1, 1}) : TensorHandle();
  return with_bias(*this, gathered(child(*this, "lin").call(x), edges, nodes, "sum", weights));
}

SAGEConv::SAGEConv(SAGEConvConfig config, Placement p) : Layer(std::move(config)) {
  const SAGEConvConfig& c = config_;
  if (c.project) register_module("lin", make_ref<Linear>(c.in_channels, c.in_channels, true, p));
  register_module("lin_l", make_ref<Linear>(c.in_channels, c.out_channels, c.bias, p));
  if (c.root_weight)
    register_module("lin_r", make_ref<Linear>(c.target_channels ? c.target_channels : c.in_channels, c.out_channels, false, p));
}
void SAGEConv::reset_parameters() {
  for (const auto& [name, layer] : named_children())
    if (auto* linear = dynamic_cast<Linear*>(layer.get())) linear->reset_parameters();
}
TensorHandle SAGEConv::forward(const TensorHandle& sources, const TensorHandle& targets, const Edges& edges) {
  const TensorHandle x = config_.project ? fn::relu(child(*this, "lin").call(sources)) : sources;
  TensorHandle y = child(*this, "lin_l").call(gathered(x, edges, targets.shape()[0], config_.aggr));
  if (config_.root_weight) y = y + child(*this, "lin_r").call(targets);
  return config_.normalize ? fn::normalize(y, 2, -1) : y;
}

GATConv::GATConv(GATConvConfig config, Placement p) : Layer(std::move(config)) {
  const GATConvConfig& c = config_;
  const int64_t width = c.heads * c.out_channels, total = c.concat ? width : c.out_channels;
  for (const char* name : {"att_src", "att_dst", "att_edge"}) {
    const bool is_there = name != std::string_view("att_edge") || c.edge_dim;
    register_parameter(name, is_there ? Parameter(fn::empty({1, c.heads, c.out_channels}, p.dtype, p.device)) : TensorHandle());
  }
  register_parameter("bias", c.bias ? Parameter(fn::zeros({total}, p.dtype, p.device)) : TensorHandle());
  if (c.target_channels) {
    register_module("lin_src", make_ref<Linear>(c.in_channels, width, false, p));
    register_module("lin_dst", make_ref<Linear>(c.target_channels, width, false, p));
  } else {
    register_module("lin", make_ref<Linear>(c.in_channels, width, false, p));
  }
  if (c.edge_dim) register_module("lin_edge", make_ref<Linear>(c.edge_dim, width, false, p));
  if (c.residual) register_module("res", make_ref<Linear>(c.target_channels ? c.target_channels : c.in_channels, total, false, p));
  reset_parameters();
}
void GATConv::reset_parameters() {
  glorot_children_(*this);
  for (const char* name : {"att_src", "att_dst", "att_edge"})
    if (const TensorHandle t = tensor(name); t.defined()) glorot_(t);
  if (const TensorHandle bias = tensor("bias"); bias.defined()) init::constant_(bias, 0);
}
TensorHandle GATConv::heads_of(const char* linear, const TensorHandle& x) {
  return fn::reshape(child(*this, linear).call(x), {-1, config_.heads, config_.out_channels});
}
TensorHandle GATConv::forward(const TensorHandle& x, const Edges& edges) {
  if (config_.target_channels) return forward(x, x, edges);
  const TensorHandle nodes = heads_of("lin", x);
  const TensorHandle y = attend(nodes, nodes, edges, x.shape()[0]);
  return with_bias(*this, config_.residual ? y + child(*this, "res").call(x) : y);
}
TensorHandle GATConv::forward(const TensorHandle& sources, const TensorHandle& targets, const Edges& edges) {
  const bool two_kinds = config_.target_channels;
  const TensorHandle y =
      attend(heads_of(two_kinds ? "lin_src" : "lin", sources), heads_of(two_kinds ? "lin_dst" : "lin", targets), edges, targets.shape()[0]);
  return with_bias(*this, config_.residual ? y + child(*this, "res").call(targets) : y);
}
TensorHandle GATConv::attend(const TensorHandle& sources, const TensorHandle& targets, const Edges& given, int64_t nodes) {
  check_edges(given);
  const auto score = [&](const TensorHandle& x, const char* name) { return fn::sum(x * needed(*this, name), Dims{-1}); };
  Edges edges = given;
  if (config_.add_self_loops) edges = add_self_loops(remove_self_loops(edges), loop_fill, std::min(nodes, sources.shape()[0]));
  TensorHandle scores =
      fn::index_select(score(sources, "att_src"), 0, edges.sources()) + fn::index_select(score(targets, "att_dst"), 0, edges.targets());
  if (edges.attr.defined() && config_.edge_dim)
    scores = scores + score(heads_of("lin_edge", fn::reshape(edges.attr, {edges.attr.shape()[0], -1})), "att_edge");
  scores = softmax(fn::leaky_relu(scores, config_.negative_slope), edges.targets(), nodes);
  scores = fn::dropout(scores, config_.dropout, training());
  const TensorHandle y = gathered(sources, edges, nodes, "sum", fn::unsqueeze(scores, -1));
  return config_.concat ? fn::flatten(y, 1) : fn::mean(y, Dims{1});
}

GINConv::GINConv(Ref<Module> network, GINConvConfig config, Placement p) : Layer(std::move(config)) {
  const TensorHandle eps = fn::full({1}, config_.eps, p.dtype, p.device);
  if (config_.train_eps) register_parameter("eps", Parameter(eps));
  else register_buffer("eps", eps);
  register_module("nn", std::move(network));
}
TensorHandle GINConv::forward(const TensorHandle& x, const Edges& edges) {
  return child(*this, "nn").call(gathered(x, edges, x.shape()[0], "sum") + (1.0 + needed(*this, "eps")) * x);
}

TensorHandle global_add_pool(const TensorHandle& x, const TensorHandle& batch, std::optional<int64_t> graphs) {
  return pooled(x, batch, graphs, "sum");
}
TensorHandle global_mean_pool(const TensorHandle& x, const TensorHandle& batch, std::optional<int64_t> graphs) {
  return pooled(x, batch, graphs, "mean");
}
TensorHandle global_max_pool(const TensorHandle& x, const TensorHandle& batch, std::optional<int64_t> graphs) {
  return pooled(x, batch, graphs, "max");
}

Batch Batch::from_data_list(const std::vector<Data>& graphs) {
  require<ValueError>(!graphs.empty(), "expected at least one graph");
  Device* device = &graphs[0].x.device();
  Tensors indices, owners;
  Tensors starts{fn::zeros({1}, DType::int64, device)};
  int64_t nodes = 0;
  for (size_t i = 0; i < graphs.size(); ++i) {
    check_edges(graphs[i].edges);
    const int64_t n = graphs[i].x.shape()[0];
    indices.push_back(graphs[i].edges.index + nodes);
    owners.push_back(fn::full({n}, int64_t(i), DType::int64, device));
    starts.push_back(fn::full({1}, nodes += n, DType::int64, device));
  }
  // A part that all graphs have, or none.
  const auto joined = [&](const char* name, auto part) {
    Tensors parts;
    for (const Data& g : graphs)
      if (part(g).defined()) parts.push_back(part(g));
    require<ValueError>(parts.empty() || parts.size() == int64_t(graphs.size()), "only some of the graphs have {}", name);
    return parts.empty() ? TensorHandle() : fn::cat(parts);
  };
  Batch b;
  b.x = joined("x", [](const Data& g) { return g.x; });
  b.edges = {fn::cat(indices, 1), joined("attributes of edges", [](const Data& g) { return g.edges.attr; })};
  b.y = joined("y", [](const Data& g) { return g.y; });
  b.batch = fn::cat(owners);
  b.ptr = fn::cat(starts);
  return b;
}

}  // namespace pyburn::nn::geometric
