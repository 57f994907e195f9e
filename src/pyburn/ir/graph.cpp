#include "pyburn/ir/graph.h"

#include "pyburn/ir/signature.h"
#include "pyburn/support/error.h"

namespace pyburn {
namespace {

// Which values exist so far.
class Defined {
 public:
  explicit Defined(const Graph& g) : known_(g.values.size()) {}
  void make(ValueId v) {
    require_in_range(v);
    require<FormatError>(!known_[size_t(v)], "[graph] a value is defined twice: got %{}", v);
    known_[size_t(v)] = true;
  }
  bool has(ValueId v) const { return v >= 0 && size_t(v) < known_.size() && known_[size_t(v)]; }
  void use(ValueId v) const {
    require_in_range(v);
    require<FormatError>(known_[size_t(v)], "[graph] a value is used before it is defined: got %{}", v);
  }

 private:
  void require_in_range(ValueId v) const {
    require<FormatError>(v >= 0 && size_t(v) < known_.size(), "[graph] value out of range: got %{} of {}", v, int64_t(known_.size()));
  }
  std::vector<bool> known_;
};

void check_names(const std::vector<std::string>& names, size_t expected) {
  require<FormatError>(
      names.empty() || names.size() == expected, "[graph] wrong number of names: got {} for {}", int64_t(names.size()), int64_t(expected));
}

}  // namespace

Ref<Graph> copy_of(const Graph& g) {
  auto c = make_ref<Graph>();
  c->values = g.values;
  c->inputs = g.inputs;
  c->outputs = g.outputs;
  c->input_names = g.input_names;
  c->output_names = g.output_names;
  c->constants = g.constants;
  c->constant_names = g.constant_names;
  c->constant_names.resize(g.constants.size());
  c->nodes = g.nodes;
  c->updates = g.updates;
  c->extents = g.extents;
  c->free_axes = g.free_axes;
  return c;
}

void check(const Graph& g) {
  Defined defined(g);
  for (ValueId v : g.inputs) defined.make(v);
  for (const auto& [v, t] : g.constants) {
    defined.make(v);
    require<FormatError>(t.meta() == g.values[size_t(v)], "[graph] a constant has another shape than its value: got {} for {}", t.shape(),
        g.values[size_t(v)].shape);
  }
  for (const GraphNode& n : g.nodes) {
    for (ValueId v : n.in)
      if (v != -1) defined.use(v);
    for (ValueId v : n.out)
      if (!(n.writes && defined.has(v))) defined.make(v);
    SmallVector<bool, 8> given;
    for (ValueId v : n.in) given.push_back(v != -1);
    check_signature(n.op.ref(), given, n.out.size());
    for (const ExtentPatch& p : n.patches) {
      require<FormatError>(p.slot >= 0, "[graph] patch out of range: got slot {}", p.slot);
      p.value.check(int64_t(g.extents.size()));
    }
  }
  for (ValueId v : g.outputs) defined.use(v);
  for (const auto& [state, value] : g.updates) defined.use(state), defined.use(value);
  check_names(g.input_names, g.inputs.size());
  check_names(g.output_names, g.outputs.size());
  check_names(g.constant_names, g.constants.size());
  std::vector<bool> bound(g.extents.size());
  for (const FreeAxis& f : g.free_axes) {
    require<FormatError>(f.input >= 0 && size_t(f.input) < g.inputs.size() && f.axis >= 0 &&
                             f.axis < g.values[size_t(g.inputs[size_t(f.input)])].shape.rank() && f.extent >= 0 &&
                             size_t(f.extent) < g.extents.size(),
        "[graph] dynamic dimension out of range: got dimension {} of input {} for size {}", f.axis, f.input, f.extent);
    bound[size_t(f.extent)] = true;
  }
  for (size_t k = 0; k < bound.size(); ++k)
    require<FormatError>(bound[k], "[graph] no dimension of any input has the dynamic size '{}'", g.extents[k].substr(0, 80));
}

uint64_t hash(const Graph& g) {
  uint64_t h = 0x84222325cbf29ce4u;
  auto mix = [&](uint64_t v) { h = (h ^ v) * 0x9e3779b97f4a7c15u + (h >> 31); };
  for (const Meta& m : g.values) {
    mix(uint64_t(m.dtype));
    for (int64_t d : m.shape) mix(uint64_t(d));
  }
  for (const GraphNode& n : g.nodes) {
    mix(hash(n.op.ref()));
    for (ValueId v : n.in) mix(uint64_t(v));
    for (ValueId v : n.out) mix(uint64_t(v));
    mix(n.writes);
  }
  for (ValueId v : g.inputs) mix(uint64_t(v));
  for (ValueId v : g.outputs) mix(uint64_t(v));
  return h;
}

bool operator==(const Graph& a, const Graph& b) {
  if (a.values != b.values || a.inputs != b.inputs || a.outputs != b.outputs || a.updates != b.updates ||
      a.nodes.size() != b.nodes.size() || a.constants.size() != b.constants.size())
    return false;
  for (size_t i = 0; i < a.nodes.size(); ++i) {
    const GraphNode &m = a.nodes[i], &n = b.nodes[i];
    if (!(m.op == n.op) || !(m.in == n.in) || !(m.out == n.out) || m.writes != n.writes || m.patches != n.patches) return false;
  }
  for (size_t i = 0; i < a.constants.size(); ++i)
    if (a.constants[i].first != b.constants[i].first || !a.constants[i].second.is_same(b.constants[i].second)) return false;
  return true;
}

std::string to_text(const Graph& g) {
  auto list = [](const auto& ids) {
    std::string text;
    for (ValueId v : ids) text += (text.empty() ? "%" : ", %") + std::to_string(v);
    return text;
  };
  std::string text = "graph(" + list(g.inputs) + ")\n";
  for (const auto& [v, t] : g.constants) text += format("  %{} = constant {} {}\n", v, t.dtype(), t.shape());
  for (const GraphNode& n : g.nodes) {
    text += format("  {} {} {} [{}]", list(n.out), n.writes ? "<-" : "=", to_text(n.op.ref()), list(n.in));
    for (const ExtentPatch& p : n.patches) text += format(", {} = {}", p.slot, to_text(p.value));
    text += "\n";
  }
  return text + "  return " + list(g.outputs) + "\n";
}

}  // namespace pyburn
