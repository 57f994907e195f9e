// Layers for graphs in C++, against the matrix of the graph. Values are compared with PyTorch Geometric's from Python.
#include <gtest/gtest.h>

#include "pyburn/decorators/autodiff/autograd.h"
#include "pyburn/nn/nn.h"
#include "pyburn/ops/functions.h"
#include "pyburn/optim/optimizer.h"
#include "pyburn/runtime/generator.h"
#include "pyburn/runtime/transfer.h"
#include "pyburn/start.h"

using namespace pyburn;
namespace geometric = nn::geometric;

namespace {

struct GraphLayers : testing::Test {
  GraphLayers() {
    start();
    default_generator().manual_seed(0);
  }
};

Tensor integers(std::vector<int64_t> values, Shape shape) { return from_host(default_device(), {values.data(), {shape, DType::int64}}); }
// 0 -> 1, 1 -> 0, 2 -> 1, 2 -> 3, 3 -> 3 of four nodes.
geometric::Edges some_edges() { return {integers({0, 1, 2, 2, 3, 1, 0, 1, 3, 3}, {2, 5}), {}}; }
double difference(const Tensor& a, const Tensor& b) { return read_number(max(abs(detach(a) - detach(b)))); }
Tensor weight_of(nn::Module& layer, const char* child) { return layer.find(child)->module->tensor("weight"); }

// Row i, column j: the weight of the edge from j to i.
Tensor matrix_of(const geometric::Edges& e, int64_t n) {
  const Tensor weights = e.attr.defined() ? Tensor(e.attr) : ones({e.index.shape()[1]});
  return reshape(scatter_add(zeros({n * n}), 0, e.targets() * n + e.sources(), weights), {n, n});
}

TEST_F(GraphLayers, GcnIsAProductWithTheNormalisedMatrix) {
  const auto layer = make_ref<geometric::GCNConv>(geometric::GCNConvConfig{.in_channels = 3, .out_channels = 2});
  const Tensor x = randn({4, 3}), a = matrix_of(geometric::add_remaining_self_loops(some_edges(), {}, 4), 4);
  const Tensor root = pow(sum(a, Dims{1}), -0.5);
  const Tensor expected = matmul(unsqueeze(root, 1) * a * root, matmul(x, transpose(weight_of(*layer, "lin"), 0, 1)));
  EXPECT_LT(difference(layer->forward(x, some_edges()), expected), 1e-6);
  EXPECT_EQ(layer->state_dict()[0].first, "bias");
  EXPECT_EQ(layer->state_dict()[1].first, "lin.weight");
  EXPECT_THROW(geometric::GCNConv({.normalize = false}), ValueError);
  EXPECT_THROW(layer->forward(x, {integers({0, 1}, {2}), {}}), ValueError);
}

TEST_F(GraphLayers, SageAddsTheMeanOfTheNeighbours) {
  const auto layer = make_ref<geometric::SAGEConv>(geometric::SAGEConvConfig{.in_channels = 3, .out_channels = 2, .bias = false});
  const Tensor x = randn({4, 3}), a = matrix_of(some_edges(), 4), mean = a / clamp_min(sum(a, Dims{1}, true), 1);
  const Tensor left = matmul(matmul(mean, x), transpose(weight_of(*layer, "lin_l"), 0, 1));
  const Tensor right = matmul(x, transpose(weight_of(*layer, "lin_r"), 0, 1));
  EXPECT_LT(difference(layer->forward(x, some_edges()), left + right), 1e-6);
}

TEST_F(GraphLayers, GatWeighsNeighboursEquallyWhereTheyAreAlike) {
  const auto layer =
      make_ref<geometric::GATConv>(geometric::GATConvConfig{.in_channels = 3, .out_channels = 2, .heads = 4, .residual = true});
  const Tensor x = expand(randn({1, 3}), {4, 3});
  const Tensor alike = (*layer->find("lin")->module)(x) + (*layer->find("res")->module)(x);
  EXPECT_LT(difference(layer->forward(x, some_edges()), alike), 1e-6);
  autograd::backward(sum(layer->forward(randn({4, 3}), some_edges())));
  EXPECT_TRUE(autograd::grad_of(layer->tensor("att_src")).defined());

  const auto between =
      make_ref<geometric::GATConv>(geometric::GATConvConfig{.in_channels = 3, .concat = false, .edge_dim = 2, .target_channels = 5});
  const geometric::Edges edges{integers({0, 1, 1, 0}, {2, 2}), randn({2, 2})};
  EXPECT_EQ(between->forward(randn({4, 3}), randn({2, 5}), edges).shape(), (Shape{2, 1}));
}

TEST_F(GraphLayers, GinAddsNeighboursAndItself) {
  const auto layer = make_ref<geometric::GINConv>(make_ref<nn::Identity>(), geometric::GINConvConfig{.eps = 0.5, .train_eps = true});
  const Tensor x = randn({4, 3});
  EXPECT_LT(difference(layer->forward(x, some_edges()), matmul(matrix_of(some_edges(), 4), x) + x * 1.5), 1e-6);
}

TEST_F(GraphLayers, ABatchIsEachGraphForItself) {
  const geometric::Data one{randn({4, 3}), some_edges(), {}}, two{randn({2, 3}), {integers({0, 1}, {2, 1}), {}}, {}};
  const geometric::Batch both = geometric::Batch::from_data_list({one, two});
  EXPECT_EQ(both.num_graphs(), 2);
  const auto layer = make_ref<geometric::GCNConv>(geometric::GCNConvConfig{.in_channels = 3, .out_channels = 2});
  const Tensor pooled = geometric::global_mean_pool(layer->forward(both.x, both.edges), both.batch);
  EXPECT_LT(difference(select(pooled, 0, 0), mean(layer->forward(one.x, one.edges), Dims{0})), 1e-6);
  EXPECT_LT(difference(select(pooled, 0, 1), mean(layer->forward(two.x, two.edges), Dims{0})), 1e-6);
  EXPECT_THROW(geometric::Batch::from_data_list({}), ValueError);
  EXPECT_THROW(geometric::Batch::from_data_list({one, {two.x, two.edges, ones({1})}}), ValueError);
}

class Differences : public geometric::MessagePassing {
 public:
  explicit Differences(geometric::MessagePassingConfig config = {}) : MessagePassing(std::move(config)) {}
  PB_MODULE(Differences)
  TensorHandle message(const geometric::EdgeEnds& edge) override {
    const Tensor difference = Tensor(edge.source()) - Tensor(edge.target());
    return edge.attr().defined() ? difference * edge.attr() : difference;
  }
  TensorHandle update(const TensorHandle& aggregated, const TensorHandle& x) override { return Tensor(aggregated) * 2 + Tensor(x); }
};

TEST_F(GraphLayers, MessagesOfTheProgramsOwn) {
  const Tensor x = randn({4, 3}), a = matrix_of(some_edges(), 4), degree = sum(a, Dims{1}, true);
  EXPECT_LT(difference(make_ref<geometric::MessagePassing>()->forward(x, some_edges()), matmul(a, x)), 1e-6);
  EXPECT_LT(difference(make_ref<Differences>()->forward(x, some_edges()), x + 2 * (matmul(a, x) - degree * x)), 1e-5);

  geometric::Edges weighed = some_edges();
  weighed.attr = full({5, 1}, 3.0);
  EXPECT_LT(difference(make_ref<Differences>()->forward(x, weighed), x + 6 * (matmul(a, x) - degree * x)), 1e-5);

  const auto back = make_ref<Differences>(geometric::MessagePassingConfig{.flow = "target_to_source"});
  const Tensor turned = transpose(a, 0, 1), begun = sum(turned, Dims{1}, true);
  EXPECT_LT(difference(back->forward(x, some_edges()), x + 2 * (matmul(turned, x) - begun * x)), 1e-5);

  const Tensor few = randn({2, 3});  // from four nodes to two of another kind
  const geometric::Edges between{integers({0, 3, 1, 1}, {2, 2}), {}};
  const auto largest = make_ref<geometric::MessagePassing>(geometric::MessagePassingConfig{.aggr = "max"});
  const Tensor reached = largest->propagate(between, x, few);
  EXPECT_LT(difference(select(reached, 0, 1), maximum(select(x, 0, 0), select(x, 0, 3))), 1e-6);
  EXPECT_EQ(read_number(sum(abs(select(reached, 0, 0)))), 0);

  EXPECT_THROW(geometric::MessagePassing({.flow = "sideways"}), ValueError);
  EXPECT_THROW(make_ref<geometric::MessagePassing>()->forward(randn({4}), some_edges()), ShapeError);
  EXPECT_EQ(typeid(*nn::deepcopy(*back)), typeid(Differences));
}

TEST_F(GraphLayers, LoopsAndDirections) {
  EXPECT_TRUE(geometric::contains_self_loops(some_edges().index));
  EXPECT_FALSE(geometric::contains_self_loops(geometric::remove_self_loops(some_edges()).index));
  const Tensor both = geometric::to_undirected(integers({0, 1, 1, 1, 2, 2}, {2, 3}));
  EXPECT_EQ(read_number(all(eq(both, integers({0, 1, 1, 2, 1, 0, 2, 1}, {2, 4})))), 1);
  EXPECT_EQ(geometric::to_undirected(integers({}, {2, 0})).numel(), 0);
}

}  // namespace
