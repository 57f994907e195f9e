// Hostile graph files: loading gives a graph or a FormatError, and a graph that loads runs or raises an Error; never a crash, a hang or a
// huge allocation. Files are changed by structure (attributes, operations, value numbers, shapes, patches) or byte by byte, and always get
// a valid checksum.
#include "harness/target.h"
#include "pyburn/inference/capture.h"
#include "pyburn/inference/control_flow.h"
#include "pyburn/inference/graph_file.h"
#include "pyburn/inference/session.h"
#include "pyburn/pyburn.h"
#include "pyburn/runtime/transfer.h"
#include "pyburn/support/error.h"
#include "pyburn/support/interrupt.h"

namespace pyburn {
namespace {

Tensor ones_of(const Shape& shape) {
  const std::vector<float> values(size_t(shape.numel()), 0.5f);
  return Tensor(from_host(default_device(), {const_cast<float*>(values.data()), {shape, DType::float32}}));
}

// Small programs that use views, writes, indices, reductions, products and a free extent.
std::vector<Ref<Graph>> good_graphs() {
  const auto of = [](Shape shape, CapturedFunction f) {
    return capture(default_device(), {{{shape, DType::float32}, "x"}}, f, {.simplify = false});
  };
  const Tensor w = ones_of({4, 4}), kernel = ones_of({2, 3, 3, 3});
  std::vector<Ref<Graph>> graphs;
  graphs.push_back(of({4, 4}, [=](const Tensors& in) -> Tensors {
    const Tensor x(in[0]);
    return {as_strided(x, {2, 2}, {4, 1}, 5) + narrow(x, 0, 1, 2).select(1, 0), cumsum(std::get<0>(sort(x, 1)), 0)};
  }));
  graphs.push_back(of({-1, 4}, [=](const Tensors& in) -> Tensors {
    const Tensor x(in[0]);
    return {softmax(matmul(relu(x), w), 1), mean(x), reshape(x, {-1})};
  }));
  graphs.push_back(of({2, 3, 6, 6}, [=](const Tensors& in) -> Tensors {
    const Tensor x(in[0]);
    return {flatten(max_pool2d(conv2d(x, kernel, {}, Dims{1}, Dims{1}), {2})), x.permute({0, 2, 3, 1}).unfold(1, 2, 2)};
  }));
  graphs.push_back(of({4, 4}, [=](const Tensors& in) -> Tensors {
    Tensor x = clone(Tensor(in[0]));
    x.select(0, 1).add_(1);
    const Tensor i = argmax(x, 1);
    return {x, gather(x, 1, unsqueeze(i, 1)), index_select(x, 0, i), cat({x, x}, 1)};
  }));
  graphs.push_back(of({-1, 4}, [=](const Tensors& in) -> Tensors {
    const Tensor x(in[0]);
    const Tensors chosen = cond(
        sum(x), [=](const Tensors& t) -> Tensors { return {matmul(Tensor(t[0]), w)}; },
        [](const Tensors& t) -> Tensors { return {Tensor(t[0]) * 2.0}; }, {x});
    const Tensors looped = while_loop([](const Tensors& t) -> Tensors { return {lt(sum(Tensor(t[0])), 50.0)}; },
        [](const Tensors& t) -> Tensors {
          return {cat({Tensor(t[0]) + 1.0, Tensor(t[0])}, 0)};
        },
        {x}, 4);
    const Tensors scanned = scan(
        [](const Tensors& t) -> Tensors {
          return {Tensor(t[0]) + Tensor(t[1]), Tensor(t[0])};
        },
        {ones_of({4})}, {x});
    return {chosen[0], looped[0], scanned[1]};
  }));
  graphs.push_back(of({6}, [=](const Tensors& in) -> Tensors {
    const Tensor x(in[0]), places = nonzero(x);
    const int64_t n = places.shape()[0], m = as_size(argmax(x, 0));
    return {arange(n + 1), reshape(places, {n}), slice(x, 0, 0, m)};
  }));
  return graphs;
}

std::vector<Bytes> seeds() {
  std::vector<Bytes> made;
  for (const Ref<Graph>& g : good_graphs()) made.push_back(graph_to_bytes(*g));
  const CapturedFunction layer = [w = ones_of({8, 4})](const Tensors& in) -> Tensors { return {linear(Tensor(in[0]), w)}; };
  const Session packs(capture(default_device(), {{{Shape{4, 4}, DType::float32}, "x"}}, layer, {}), default_device());
  made.push_back(graph_to_bytes(packs.graph(), true));  // the last one: mutate() changes what it says about packed weights
  return made;
}

ExtentExpression random_expression(fuzz::Random& r) {
  std::vector<ExtentExpression::Term> terms;
  for (uint64_t n = r.below(6); n > 0; --n)
    terms.push_back({ExtentExpression::Kind(r.below(9)), r.coin() ? r.integer() : int64_t(r.below(3)), int64_t(r.below(3))});
  if (terms.empty() || r.coin()) terms.insert(terms.begin(), {ExtentExpression::Kind::extent, 0});
  return ExtentExpression(std::move(terms));
}

void change(Graph& g, fuzz::Random& r, const Ref<Graph>& inner) {
  GraphNode& node = r.any_of(g.nodes);
  if (!sub_graphs(node.op.ref()).empty() && !r.one_in(3)) {  // inside
    node.op = with_sub_graphs(node.op, [&](const Graph& inside) {
      Ref<Graph> own = copy_of(inside);
      if (!own->nodes.empty() && r.coin()) change(*own, r, inner);
      else if (!own->inputs.empty() && r.coin()) own->free_axes.push_back({int32_t(r.below(own->inputs.size())), int32_t(r.below(3)), 0});
      if (r.one_in(4)) own->extents.push_back("m");
      if (r.one_in(6) && !own->outputs.empty()) r.any_of(own->outputs) = ValueId(r.below(own->values.size()));
      return own;
    });
    return;
  }
  if (!g.unknown_axes.empty() && r.one_in(6)) {
    UnknownAxis& u = r.any_of(g.unknown_axes);
    (r.coin() ? u.axis : u.extent) = int32_t(r.below(4));
    return;
  }
  switch (r.below(8)) {
    case 0:
    case 1:
    case 2: {
      fuzz::HostileFields fields(r, inner);
      node.op = node.op.edited(fields);
      return;
    }
    case 3:
      if (!node.in.empty()) r.any_of(node.in) = ValueId(r.below(g.values.size() + 2)) - 1;
      return;
    case 4:
      node.writes = !node.writes;
      return;
    case 5: {
      Meta& m = r.any_of(g.values);
      if (r.coin()) m.dtype = r.dtype();
      else if (!m.shape.empty()) r.any_of(m.shape) = std::abs(r.integer() % (int64_t(1) << 40));
      return;
    }
    case 6:
      g.updates.emplace_back(ValueId(r.below(g.values.size())), ValueId(r.below(g.values.size())));
      return;
    default:
      node.patches.push_back({int32_t(r.below(4)), random_expression(r)});
  }
}

// The results get the metas that inference states, as a hostile writer would do; otherwise the file would be refused before its kernels
// run. What cannot load is tried as well, but less often.
void add_operation(Graph& g, fuzz::Random& r, const Ref<Graph>& inner) {
  fuzz::MadeOperation made = fuzz::make_operation(r, g.values, inner);
  if (!made.valid && !r.one_in(8)) return;
  GraphNode node{made.op, {}, {}, false, {}};
  for (int64_t v : made.in) node.in.push_back(ValueId(v));
  for (const Meta& m : made.results) node.out.push_back(g.add_value(m));
  for (ValueId v : node.out) g.outputs.push_back(v);
  g.output_names.clear();
  g.nodes.push_back(std::move(node));
}

void change_bytes(Bytes& input, fuzz::Random& r) {
  for (uint64_t n = 1 + r.below(4); n > 0; --n) input[kGraphHeaderBytes + r.below(input.size() - kGraphHeaderBytes)] = r.byte();
  seal_graph_bytes(input);
}

void mutate(Bytes& input, fuzz::Random& r, const std::vector<Bytes>& seeds) {
  if (r.one_in(10)) {
    input = seeds.back();
    return change_bytes(input, r);
  }
  static const Ref<Graph> inner = graph_from_bytes(seeds[0], default_device());
  Ref<Graph> g;
  try {
    g = graph_from_bytes(input, default_device());
  } catch (const FormatError&) {
    g = graph_from_bytes(r.any_of(seeds), default_device());
  }
  const uint64_t kind = r.below(8);
  if (!g->nodes.empty())
    for (uint64_t n = kind < 4 ? 1 : r.below(3); n > 0; --n) change(*g, r, inner);
  if (kind < 6 && !g->values.empty())
    for (uint64_t n = 1 + r.below(3); n > 0; --n) add_operation(*g, r, inner);
  input = graph_to_bytes(*g);
  if (kind == 7) change_bytes(input, r);
}

std::atomic<int> polls_left;

// A hostile loop may have no end; users have Ctrl-C.
void interrupt_soon() {
  if (--polls_left < 0) throw Interrupted("[test] interrupted");
}

fuzz::Outcome run(BytesView input) {
  poll_interrupt = interrupt_soon;
  polls_left = 3;  // of at most five a second
  Ref<Graph> graph;
  try {
    graph = graph_from_bytes(input, default_device());
  } catch (const FormatError&) {
    return fuzz::Outcome::refused;
  }
  Session session(graph, default_device());
  for (int64_t n : {3, 1, 0}) {
    Tensors in;
    for (ValueId v : graph->inputs) {
      Shape shape = graph->values[size_t(v)].shape;
      for (const FreeAxis& f : graph->free_axes)
        if (graph->inputs[size_t(f.input)] == v) shape[f.axis] = n + f.extent;
      if (shape.numel() > 1 << 20) return fuzz::Outcome::accepted;
      in.push_back(ones_of(shape));
    }
    try {
      session.run(in);
    } catch (const Error&) {  // a kernel may refuse values; a file may ask for more memory than there is
    }
    if (graph->free_axes.empty()) break;
  }
  return fuzz::Outcome::accepted;
}

}  // namespace

const fuzz::Target fuzz::target{"graph_files_fuzz", seeds, mutate, run};

}  // namespace pyburn
