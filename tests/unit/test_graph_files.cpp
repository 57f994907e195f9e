// Graph files with valid checksums and hostile contents are refused before anything runs.
#include "device_fixture.h"
#include "pyburn/inference/capture.h"
#include "pyburn/inference/graph_file.h"
#include "pyburn/ir/integer_slots.h"

namespace pyburn::testing {
namespace {

Ref<Graph> captured(const CapturedFunction& f) { return capture(cpu(), {{{Shape{4, 4}, DType::float32}, "x"}}, f, {.simplify = false}); }
GraphNode& node_of(Graph& g, std::string_view name) {
  for (GraphNode& n : g.nodes)
    if (n.op.info().name() == name) return n;
  ADD_FAILURE() << "no node " << name;
  return g.nodes.front();
}
// Sets an integer of the attributes, in field order.
void set_slot(GraphNode& n, int64_t slot, int64_t value) {
  Slots slots = integer_slots(n.op.ref());
  slots[slot] = value;
  n.op = with_integer_slots(n.op, slots);
}
std::string refusal(const Graph& g) {
  return message_of<FormatError>([&] { graph_from_bytes(graph_to_bytes(g), cpu()); });
}

TEST(HostileGraphFile, AViewLiesInsideItsStorage) {
  const CapturedFunction f = [](const Tensors& in) -> Tensors { return {as_strided(Tensor(in[0]), {2, 2}, {4, 1}, 5)}; };
  const Ref<Graph> good = captured(f);
  graph_from_bytes(graph_to_bytes(*good), cpu());
  const int64_t slots = integer_slots(node_of(*good, "as_strided").op.ref()).size();
  for (int64_t value : {INT64_MAX, INT64_MIN, int64_t(1) << 62, int64_t(1) << 61, int64_t(-1), int64_t(1000)})
    for (int64_t slot = 2; slot < std::min<int64_t>(slots, 5); ++slot) {  // strides and offset
      const Ref<Graph> g = captured(f);
      set_slot(node_of(*g, "as_strided"), slot, value);
      EXPECT_NE(refusal(*g).find("as_strided"), std::string::npos) << value << " in slot " << slot;
    }
}

TEST(HostileGraphFile, AttributesAreInRange) {
  const CapturedFunction f = [](const Tensors& in) -> Tensors { return {sum(Tensor(in[0]), Dims{1}), select(Tensor(in[0]), 0, 1)}; };
  const size_t nodes = captured(f)->nodes.size();
  for (size_t i = 0; i < nodes; ++i)
    for (int64_t value : {INT64_MAX, INT64_MIN}) {
      const Ref<Graph> g = captured(f);
      for (int64_t slot = 0; slot < integer_slots(g->nodes[i].op.ref()).size(); ++slot) set_slot(g->nodes[i], slot, value);
      refusal(*g);
    }
}

TEST(HostileGraphFile, ValuesHaveTheMetasOfInference) {
  const CapturedFunction f = [](const Tensors& in) -> Tensors { return {relu(Tensor(in[0]))}; };
  Ref<Graph> g = captured(f);
  g->values[size_t(g->outputs[0])].shape = Shape{4, 5};
  EXPECT_NE(refusal(*g).find("the graph states another result"), std::string::npos);
  g = captured(f);
  g->values[size_t(g->outputs[0])].dtype = DType::int64;
  EXPECT_NE(refusal(*g).find("the graph states another result"), std::string::npos);
  g = captured(f);
  g->updates.emplace_back(g->inputs[0], g->outputs[0]);
  graph_from_bytes(graph_to_bytes(*g), cpu());
  g->extents = {"n"};
  g->free_axes.push_back({0, 0, 0});
  g->nodes[0].patches.push_back({7, ExtentExpression::extent(0)});
  EXPECT_NE(refusal(*g).find("patch out of range"), std::string::npos);
}

TEST(HostileGraphFile, HasNoFusedOperations) {
  const CapturedFunction f = [](const Tensors& in) -> Tensors { return {relu(Tensor(in[0]))}; };
  const Ref<Graph> g = captured(f);
  struct Nest final : FieldEditor {
    explicit Nest(Ref<Graph> body) : body(std::move(body)) {}
    using FieldEditor::field;
    void field(std::string_view, bool&) override {}
    void field(std::string_view, int64_t&) override {}
    void field(std::string_view, double&) override {}
    void field(std::string_view, std::string&) override {}
    void field(std::string_view, DType&) override {}
    void field(std::string_view, Dims&) override {}
    void field(std::string_view, Scalar&) override {}
    void field(std::string_view, std::optional<Scalar>&) override {}
    void field(std::string_view, Ref<Graph>& v) override { v = body; }
    Ref<Graph> body;
  } nest(captured(f));
  const OpInfo* fused = OpTable::global().find("fused");
  ASSERT_TRUE(fused);
  g->nodes[0].op = Operation(*fused, AttrBox::fresh(*fused->attrs)).edited(nest);
  EXPECT_NE(refusal(*g).find("made by sessions"), std::string::npos);
}

}  // namespace
}  // namespace pyburn::testing
