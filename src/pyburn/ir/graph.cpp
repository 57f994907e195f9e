#include "pyburn/ir/graph.h"

#include <algorithm>

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

// Which extents are known so far: those of inputs, and those of values that have been made.
class KnownExtents {
 public:
  explicit KnownExtents(const Graph& g) : g_(g), known_(g.extents.size()) {
    for (const FreeAxis& f : g.free_axes) {
      require<FormatError>(f.input >= 0 && size_t(f.input) < g.inputs.size() && is_axis(g.inputs[size_t(f.input)], f.axis, f.extent),
          "[graph] free axis out of range: got axis {} of input {} for extent {}", f.axis, f.input, f.extent);
      known_[size_t(f.extent)] = true;
    }
  }
  void use(const ExtentExpression& e) const {
    for (const ExtentExpression::Term& t : e.terms())
      require<FormatError>(t.kind != ExtentExpression::Kind::extent || known_[size_t(t.a)],
          "[graph] an extent is used before it is known: got number {}", t.a);
  }
  void make(const GraphNode& n) {
    for (; next_ < g_.unknown_axes.size(); ++next_) {
      const UnknownAxis& u = g_.unknown_axes[next_];
      if (std::find(n.out.begin(), n.out.end(), u.value) == n.out.end()) return;
      require<FormatError>(!n.writes && is_axis(u.value, u.axis, u.extent) && !known_[size_t(u.extent)],
          "[graph] unknown axis out of range: got axis {} of %{} for extent {}", u.axis, u.value, u.extent);
      known_[size_t(u.extent)] = true;
    }
  }
  void check_all() const {
    require<FormatError>(next_ == g_.unknown_axes.size(), "[graph] unknown axes are not in the order of their nodes");
  }

 private:
  bool is_axis(ValueId v, int32_t axis, int32_t extent) const {
    return axis >= 0 && axis < g_.values[size_t(v)].shape.rank() && extent >= 0 && size_t(extent) < known_.size();
  }
  const Graph& g_;
  std::vector<bool> known_;
  size_t next_ = 0;  // of the unknown axes
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
  c->unknown_axes = g.unknown_axes;
  return c;
}

bool SubGraph::operator==(const SubGraph& o) const { return get() == o.get() || (get() && o.get() && **this == *o); }

void check(const Graph& g) {
  Defined defined(g);
  KnownExtents known(g);
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
      known.use(p.value);
    }
    for (const Ref<Graph>& inside : sub_graphs(n.op.ref())) check(*inside);
    known.make(n);
  }
  for (ValueId v : g.outputs) defined.use(v);
  for (const auto& [state, value] : g.updates) defined.use(state), defined.use(value);
  check_names(g.input_names, g.inputs.size());
  check_names(g.output_names, g.outputs.size());
  check_names(g.constant_names, g.constants.size());
  known.check_all();
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
  if (a.values != b.values || a.inputs != b.inputs || a.outputs != b.outputs || a.updates != b.updates || a.free_axes != b.free_axes ||
      a.unknown_axes != b.unknown_axes || a.extents.size() != b.extents.size() || a.nodes.size() != b.nodes.size() ||
      a.constants.size() != b.constants.size())
    return false;
  for (size_t i = 0; i < a.nodes.size(); ++i) {
    const GraphNode &m = a.nodes[i], &n = b.nodes[i];
    if (!(m.op == n.op) || !(m.in == n.in) || !(m.out == n.out) || m.writes != n.writes || m.patches != n.patches) return false;
  }
  for (size_t i = 0; i < a.constants.size(); ++i)
    if (a.constants[i].first != b.constants[i].first || !a.constants[i].second.is_same(b.constants[i].second)) return false;
  return true;
}

namespace {

std::string indented(const std::string& text) {
  std::string result = "    ";
  for (char c : text.substr(0, text.size() - 1)) result += c == '\n' ? std::string("\n    ") : std::string(1, c);
  return result + "\n";
}

}  // namespace

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
    for (const UnknownAxis& u : g.unknown_axes)
      if (std::find(n.out.begin(), n.out.end(), u.value) != n.out.end())
        text += format(", {} = extent {} of %{}", g.extents[size_t(u.extent)], u.axis, u.value);
    text += "\n";
    for (const Ref<Graph>& inside : sub_graphs(n.op.ref())) text += indented(to_text(*inside));
  }
  return text + "  return " + list(g.outputs) + "\n";
}

}  // namespace pyburn
