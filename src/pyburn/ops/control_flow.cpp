#include "pyburn/ops/control_flow.h"

#include <algorithm>

#include "pyburn/ops/generated/copy.h"
#include "pyburn/ops/generated/fill.h"
#include "pyburn/ops/generated/join.h"
#include "pyburn/ops/generated/movement.h"
#include "pyburn/runtime/door_ops.h"
#include "pyburn/runtime/graph_run.h"
#include "pyburn/runtime/transfer.h"
#include "pyburn/support/interrupt.h"

namespace pyburn {
namespace {

void require_flag(const Meta& m) {
  require<DTypeError>(m.dtype == DType::boolean, "expected a bool as the condition: got {}", m.dtype);
  require(m.shape.numel() == 1, "expected one element as the condition: got {}", m.shape);
}

const Graph& graph_in(const SubGraph& g) {
  require<ValueError>(bool(g), "expected a graph: got none");
  require<ValueError>(g->constants.empty() && g->updates.empty(), "expected a graph without constants and state");
  return *g;
}

bool is_free(const Graph& g, size_t input, int axis) {
  return std::any_of(
      g.free_axes.begin(), g.free_axes.end(), [&](const FreeAxis& f) { return f.input == int32_t(input) && f.axis == axis; });
}

// Do values like these fit the inputs of a graph? Extents of -1, and those of free axes, are known when it runs.
void check_inputs(const Graph& g, Metas in) {
  require<ValueError>(
      g.inputs.size() == in.size(), "wrong number of inputs of a graph: got {} for {}", int64_t(in.size()), int64_t(g.inputs.size()));
  for (size_t i = 0; i < in.size(); ++i) {
    const Meta& wanted = g.values[size_t(g.inputs[i])];
    require<DTypeError>(in[i].dtype == wanted.dtype, "input {} of a graph does not fit: got {}, expected {}", i, in[i].dtype, wanted.dtype);
    bool fits = in[i].shape.rank() == wanted.shape.rank();
    for (int axis = 0; fits && axis < wanted.shape.rank(); ++axis)
      fits = in[i].shape[axis] < 0 || in[i].shape[axis] == wanted.shape[axis] || is_free(g, i, axis);
    require(fits, "input {} of a graph does not fit: got {}, expected {}", i, in[i].shape, wanted.shape);
  }
}

Meta output(const Graph& g, size_t k) { return g.values[size_t(g.outputs[k])]; }

MetaList infer_cond(const Cond& a, Metas in) {
  require<ValueError>(!in.empty(), "expected a condition: got no inputs");
  require_flag(in[0]);
  const Graph &yes = graph_in(a.then_branch), &no = graph_in(a.else_branch);
  for (const Graph* g : {&yes, &no}) check_inputs(*g, in.subspan(1));
  require<ValueError>(yes.outputs.size() == no.outputs.size(), "the branches give different numbers of results: got {} and {}",
      int64_t(yes.outputs.size()), int64_t(no.outputs.size()));
  const bool known = yes.extents.empty() && no.extents.empty();
  MetaList out;
  for (size_t k = 0; k < yes.outputs.size(); ++k) {
    Meta m = output(yes, k);
    const Meta other = output(no, k);
    require<DTypeError>(m.dtype == other.dtype, "the branches give different dtypes as result {}: got {} and {}", k, m.dtype, other.dtype);
    require(m.shape.rank() == other.shape.rank(), "the branches give different ranks as result {}: got {} and {}", k, m.shape, other.shape);
    for (int axis = 0; axis < m.shape.rank(); ++axis)
      if (!known || m.shape[axis] != other.shape[axis]) m.shape[axis] = -1;
    out.push_back(std::move(m));
  }
  return out;
}

// The first `carried` outputs of the body are its first inputs for the next step.
void check_carried(const Graph& body, int64_t carried) {
  require<ValueError>(carried >= 0 && size_t(carried) <= body.inputs.size() && size_t(carried) <= body.outputs.size(),
      "the body has too few values for {} carried ones: got {} inputs and {} outputs", carried, int64_t(body.inputs.size()),
      int64_t(body.outputs.size()));
  for (size_t k = 0; k < size_t(carried); ++k) {
    const Meta &before = body.values[size_t(body.inputs[k])], after = output(body, k);
    require<DTypeError>(
        before.dtype == after.dtype, "the body changes the dtype of carried value {}: got {}, expected {}", k, after.dtype, before.dtype);
    bool fits = before.shape.rank() == after.shape.rank();
    for (int axis = 0; fits && axis < before.shape.rank(); ++axis) fits = before.shape[axis] == after.shape[axis] || is_free(body, k, axis);
    require(fits, "the body changes the shape of carried value {}: got {}, expected {}", k, after.shape, before.shape);
  }
}

MetaList infer_while(const WhileLoop& a, Metas in) {
  const Graph &condition = graph_in(a.condition), &body = graph_in(a.body);
  require<ValueError>(a.most >= 0, "the number of steps must not be negative: got {}", a.most);
  for (const Graph* g : {&condition, &body}) check_inputs(*g, in);
  require<ValueError>(condition.outputs.size() == 1, "the condition must give one result: got {}", int64_t(condition.outputs.size()));
  require_flag(output(condition, 0));
  require<ValueError>(int64_t(body.outputs.size()) == a.carried, "wrong number of results of the body: got {} for {} carried values",
      int64_t(body.outputs.size()), a.carried);
  check_carried(body, a.carried);
  MetaList out;
  for (size_t k = 0; k < size_t(a.carried); ++k) {
    Meta m = in[k];
    for (int axis = 0; axis < m.shape.rank(); ++axis)
      if (is_free(body, k, axis)) m.shape[axis] = -1;
    out.push_back(std::move(m));
  }
  return out;
}

MetaList infer_scan(const Scanned& a, Metas in) {
  const Graph& body = graph_in(a.body);
  require<ValueError>(a.carried >= 0 && a.sequences > 0 && a.carried <= int64_t(in.size()) && a.sequences <= int64_t(in.size()) - a.carried,
      "expected at least one sequence and as many inputs as the scan names: got {} inputs for {} carried values and {} sequences",
      int64_t(in.size()), a.carried, a.sequences);
  int64_t length = -1;
  MetaList given(in);
  for (int64_t k = a.carried; k < a.carried + a.sequences; ++k) {
    const Shape& whole = in[size_t(k)].shape;
    require(a.dim >= 0 && a.dim < whole.rank(), "a sequence has no dimension {}: got {}", a.dim, whole);
    if (length < 0) length = whole[int(a.dim)];
    require(whole[int(a.dim)] == length, "the sequences have different lengths: got {} and {}", length, whole[int(a.dim)]);
    Shape entry;
    for (int axis = 0; axis < whole.rank(); ++axis)
      if (axis != a.dim) entry.push_back(whole[axis]);
    given[k].shape = entry;
  }
  require<ValueError>(body.extents.empty(), "the body of a scan must give results of known shapes");
  check_inputs(body, {given.data(), size_t(given.size())});
  check_carried(body, a.carried);
  MetaList out;
  for (size_t k = 0; k < body.outputs.size(); ++k) {
    Meta m = output(body, k);
    if (int64_t(k) >= a.carried) {
      Shape stacked{length};
      for (int64_t d : m.shape) stacked.push_back(d);
      m.shape = stacked;
    }
    out.push_back(std::move(m));
  }
  return out;
}

TensorHandle copied(const TensorHandle& t) {
  InputList in;
  in.add(t);
  return call(op::cast, CastTo{t.dtype()}, in);
}

// Results are tensors of their own, and contiguous, as the capture promised: a branch may return what it was given, or a view.
Tensors owned(Tensors results, Inputs in) {
  for (int64_t k = 0; k < results.size(); ++k) {
    const auto shares = [&](const TensorHandle& t) { return t.storage() == results[k].storage(); };
    bool shared = std::any_of(in.begin(), in.end(), [&](const TensorHandle* t) { return t->defined() && shares(*t); });
    for (int64_t before = 0; before < k; ++before) shared = shared || shares(results[before]);
    results[k] = fn::contiguous(shared ? copied(results[k]) : results[k]);
  }
  return results;
}

Tensors with_rest(const Tensors& first, Inputs rest) {
  Tensors all = first;
  for (const TensorHandle* t : rest) all.push_back(*t);
  return all;
}

// A graph as a step: `rest` follows the carried values.
Step step_of(const Graph& g, Inputs rest, const RunSubGraph& run) {
  return [&g, rest, &run](const Tensors& carried) {
    InputList in;
    in.add(carried);
    for (const TensorHandle* t : rest) in.add(*t);
    return run(g, in);
  };
}

Tensors cond_of(const Cond& a, Inputs in, const RunSubGraph& run) {
  return run(graph_in(read_condition(*in[0]) ? a.then_branch : a.else_branch), in.subspan(1));
}

Tensors while_of(const WhileLoop& a, Inputs in, const RunSubGraph& run) {
  const Inputs rest = in.subspan(size_t(a.carried));
  return run_while(
      step_of(graph_in(a.condition), rest, run), step_of(graph_in(a.body), rest, run), with_rest({}, in.first(size_t(a.carried))), a.most);
}

Tensors scan_of(const Scanned& a, Inputs in, const RunSubGraph& run) {
  const Graph& body = graph_in(a.body);
  const auto results = [&] {
    MetaList metas;
    for (size_t k = size_t(a.carried); k < body.outputs.size(); ++k) metas.push_back(output(body, k));
    return metas;
  };
  return run_scan(step_of(body, in.subspan(size_t(a.carried + a.sequences)), run), with_rest({}, in.first(size_t(a.carried))),
      with_rest({}, in.subspan(size_t(a.carried), size_t(a.sequences))), a.dim, a.reverse, results);
}

Meta infer_extent(const NoAttrs&, Metas in) {
  require<DTypeError>(is_integral(in[0].dtype) && in[0].dtype != DType::boolean, "expected an integer: got {}", in[0].dtype);
  require(in[0].shape.numel() == 1, "expected one element: got {}", in[0].shape);
  return {Shape{-1}, DType::boolean};
}

TensorHandle extent_of_value(const NoAttrs& a, Inputs in) {
  const Meta meta = in[0]->meta();
  infer_extent(a, {&meta, 1});
  const double n = read_number(*in[0]);
  constexpr double kMost = 1LL << 48;
  require<ValueError>(n >= 0 && n <= kMost, "expected a size of at least 0: got {}", n);
  return fn::expand(fn::zeros(Dims{1}, DType::boolean, &in[0]->device(), false), Dims{int64_t(n)});
}

template <class A, auto infer, auto run_with>
Tensors checked_run(const A& a, Inputs in, const RunSubGraph& run) {
  SmallVector<Meta, 4> metas;  // the door infers nothing where sizes depend on values
  for (const TensorHandle* t : in) metas.push_back(t->meta());
  infer(a, {metas.data(), size_t(metas.size())});
  return owned(run_with(a, in, run), in);
}
constexpr auto checked_cond = checked_run<Cond, infer_cond, cond_of>;
constexpr auto checked_while = checked_run<WhileLoop, infer_while, while_of>;
constexpr auto checked_scan = checked_run<Scanned, infer_scan, scan_of>;

template <class A, auto run>
Tensors by_the_door(const A& a, Inputs in) {
  return run(a, in, run_graph);
}

}  // namespace

bool read_condition(const TensorHandle& flag) {
  require_flag(flag.meta());
  const TensorHandle whole = flag.layout().is_contiguous() ? flag : copied(flag);
  uint8_t value = 0;
  to_host(whole, {&value, whole.meta()});
  return value != 0;
}

Tensors run_while(const Step& condition, const Step& body, Tensors carried, int64_t most) {
  for (int64_t step = 0;; ++step) {
    check_interrupt();
    const Tensors more = condition(carried);
    require<ValueError>(more.size() == 1, "the condition must give one result: got {}", more.size());
    if (!read_condition(more[0])) return carried;
    require<ValueError>(most == 0 || step < most, "the loop did not end within max_iterations: got {} iterations", most);
    Tensors next = body(carried);
    require<ValueError>(
        next.size() == carried.size(), "wrong number of results of the body: got {} for {} carried values", next.size(), carried.size());
    carried = std::move(next);
  }
}

Tensors run_scan(
    const Step& body, Tensors carried, const Tensors& sequences, int64_t dim, bool reverse, const std::function<MetaList()>& results) {
  const int64_t length = sequences[0].shape()[int(dim)], kept = carried.size();
  std::vector<Tensors> stacks;
  for (int64_t step = 0; step < length; ++step) {
    check_interrupt();
    Tensors given = carried;
    for (const TensorHandle& s : sequences) given.push_back(fn::select(s, dim, reverse ? length - 1 - step : step));
    Tensors out = body(given);
    require<ValueError>(out.size() >= kept, "wrong number of results of the body: got {} for {} carried values", out.size(), kept);
    stacks.resize(size_t(out.size() - kept));
    for (int64_t k = kept; k < out.size(); ++k) stacks[size_t(k - kept)].push_back(out[k]);
    out.resize(kept, {});
    carried = std::move(out);
  }
  for (Tensors& stack : stacks) {
    if (reverse) std::reverse(stack.begin(), stack.end());
    carried.push_back(fn::stack(stack, 0));
  }
  if (length > 0) return carried;
  for (const Meta& m : results()) {
    Shape none{0};
    for (int64_t d : m.shape) none.push_back(d);
    carried.push_back(fn::zeros(none, m.dtype, &sequences[0].device(), false));
  }
  return carried;
}

Tensors run_control_flow(OpRef op, Inputs in, const RunSubGraph& run) {
  if (op.info == &op::cond) return checked_cond(op.as<Cond>(), in, run);
  if (op.info == &op::while_loop) return checked_while(op.as<WhileLoop>(), in, run);
  return checked_scan(op.as<Scanned>(), in, run);
}

namespace op {
static constexpr const char* kRecorded = "autodiff records the operations of the graph that runs";
constinit OpInfo cond =
    define<Cond, infer_cond, nullptr, by_the_door<Cond, checked_cond>>({.schema = "cond(Tensor pred, Tensor[] operands) -> Tensor[]",
        .doc = "Runs one of two graphs, by the value of pred. Made by pyburn.cond while a model is captured.",
        .kind = Kind::dynamic,
        .no_grad = kRecorded});
constinit OpInfo while_loop =
    define<WhileLoop, infer_while, nullptr, by_the_door<WhileLoop, checked_while>>({.schema = "while_loop(Tensor[] tensors) -> Tensor[]",
        .doc = "Runs a graph while another one gives True. Made by pyburn.while_loop while a model is captured.",
        .kind = Kind::dynamic,
        .no_grad = kRecorded});
constinit OpInfo scan =
    define<Scanned, infer_scan, nullptr, by_the_door<Scanned, checked_scan>>({.schema = "scan(Tensor[] tensors) -> Tensor[]",
        .doc = "Runs a graph for each entry of sequences, with carried values. Made by pyburn.scan while a model is captured.",
        .kind = Kind::dynamic,
        .no_grad = kRecorded});
constinit OpInfo extent_of = define<NoAttrs, infer_extent, nullptr, extent_of_value>({.schema = "extent_of(Tensor size) -> Tensor",
    .doc = "Makes an integer an extent. Made by pyburn.inference.as_size while a model is captured.",
    .kind = Kind::dynamic,
    .no_grad = "the result has no values that matter"});
}  // namespace op

void register_control_flow(OpTable& table) { table.add({&op::cond, &op::while_loop, &op::scan, &op::extent_of}); }

}  // namespace pyburn
