#include "pyburn/onnx/plan.h"

#include <algorithm>
#include <deque>
#include <functional>
#include <queue>
#include <set>
#include <unordered_map>

#include "pyburn/onnx/standard_functions.h"
#include "pyburn/support/error.h"

namespace pyburn::onnx {
namespace {

constexpr int64_t kMostNodes = 2'000'000;  // with the nodes of functions in place of their calls
constexpr int kDeepest = 64;               // graphs and functions inside each other
constexpr int64_t kMostOnHost = 4096;      // elements of an integer tensor that is taken for a shape, not for data
constexpr int64_t kMostFloatsOnHost = 64;  // the same of a floating one, such as scales

std::string domain_text(std::string_view domain) { return domain.empty() ? "ai.onnx" : std::string(domain); }

// What a plan cannot run, all of it.
class Missing {
 public:
  void add(const std::string& what, const std::string& node) {
    auto [found, is_new] = nodes_.try_emplace(what);
    if (is_new) order_.push_back(what);
    found->second.push_back(node);
  }
  void raise() const {
    if (order_.empty()) return;
    std::string text = "[onnx] the model needs what pyburn does not have:";
    for (const std::string& what : order_) {
      const std::vector<std::string>& nodes = nodes_.at(what);
      text += "\n  " + what + " in ";
      for (size_t i = 0; i < std::min<size_t>(nodes.size(), 8); ++i) text += (i ? ", '" : "'") + nodes[i] + "'";
      if (nodes.size() > 8) text += format(" and {} more", int64_t(nodes.size() - 8));
    }
    text +=
        "\nExport the model with another opset version, or without these operators (as functions of the model, or by onnxsim); "
        "docs/guides/onnx.md lists what is supported.";
    throw UnsupportedOp(text);
  }

 private:
  std::unordered_map<std::string, std::vector<std::string>> nodes_;
  std::vector<std::string> order_;
};

// The names of one graph or function, which see those around it.
struct Scope {
  const Scope* outer = nullptr;
  std::unordered_map<std::string, int> names = {};

  std::optional<int> find(const std::string& name) const {
    for (const Scope* s = this; s; s = s->outer)
      if (const auto found = s->names.find(name); found != s->names.end()) return found->second;
    return {};
  }
};
using Attributes = std::unordered_map<std::string, const AttributeDef*>;  // of the call of a function

struct FunctionCall {
  const FunctionDef* function;
  OpsetImports opsets;
};

// Calls each(name) for the values that a node reads, those that the graphs inside of it may take from around them included.
template <class Each>
void for_each_read(const NodeDef& node, const Each& each) {
  for (const std::string& name : node.inputs) each(name);
  for (const AttributeDef& a : node.attributes)
    for (const auto& g : a.graphs) {
      for (const NodeDef& inner : g->nodes) for_each_read(inner, each);
      for (const ValueInfo& v : g->outputs) each(v.name);
    }
}

// The nodes in an order in which each follows those whose results it reads. The standard asks for it, but not every file has it; where none
// exists, the order of the file remains, and its first mistake is named.
std::vector<const NodeDef*> in_order(const std::vector<NodeDef>& defs) {
  std::vector<const NodeDef*> order;
  for (const NodeDef& def : defs) order.push_back(&def);
  std::unordered_map<std::string_view, size_t> makers;
  for (size_t i = 0; i < defs.size(); ++i)
    for (const std::string& name : defs[i].outputs)
      if (!name.empty()) makers.emplace(name, i);
  std::vector<std::vector<size_t>> readers(defs.size());
  std::vector<int64_t> waits(defs.size(), 0);
  bool is_ordered = true;
  for (size_t i = 0; i < defs.size(); ++i)
    for_each_read(defs[i], [&](const std::string& name) {
      const auto maker = makers.find(name);
      if (maker == makers.end() || maker->second == i) return;
      is_ordered = is_ordered && maker->second < i;
      readers[maker->second].push_back(i);
      ++waits[i];
    });
  if (is_ordered) return order;
  std::priority_queue<size_t, std::vector<size_t>, std::greater<>> ready;  // the first in the file first
  for (size_t i = 0; i < defs.size(); ++i)
    if (waits[i] == 0) ready.push(i);
  std::vector<const NodeDef*> sorted;
  while (!ready.empty()) {
    const size_t i = ready.top();
    ready.pop();
    sorted.push_back(&defs[i]);
    for (const size_t reader : readers[i])
      if (--waits[reader] == 0) ready.push(reader);
  }
  return sorted.size() == defs.size() ? sorted : order;
}

class Planner {
 public:
  Planner(std::shared_ptr<const ModelDef> model, Plan& plan) : model_(std::move(model)), plan_(plan) {
    for (const FunctionDef& f : model_->functions) functions_[{f.domain, f.name, f.overload}] = &f;
  }

  void run() {
    Scope scope;
    const GraphDef& g = model_->graph;
    std::set<std::string> initialised;
    for (const TensorDef& t : g.initializers) initialised.insert(t.name);
    GraphDef plain_inputs;
    for (const ValueInfo& v : g.inputs)
      if (!initialised.contains(v.name)) plan_.inputs.push_back(v);
    plan_.outputs = g.outputs;
    plan_.graph = graph(g, plan_.inputs, scope, model_->opsets, nullptr, 0);
    missing_.raise();
    find_deaths(plan_.graph);
    choose_roles();
    name_constants();
  }

 private:
  using FunctionName = std::tuple<std::string, std::string, std::string>;

  int new_value() { return plan_.values++; }

  PlanGraph graph(const GraphDef& g, const std::vector<ValueInfo>& inputs, Scope& scope, const OpsetImports& opsets,
      const Attributes* attributes, int depth) {
    require<FormatError>(depth < kDeepest, "[onnx] graphs and functions are nested more than {} deep", kDeepest);
    PlanGraph made;
    for (const ValueInfo& v : inputs) made.inputs.push_back(define(scope, v.name));
    for (const TensorDef& t : g.initializers) constant(scope, t.name, std::shared_ptr<const TensorDef>(model_, &t));
    nodes(g.nodes, scope, opsets, attributes, depth, made.nodes);
    for (const ValueInfo& v : g.outputs) made.outputs.push_back(v.name.empty() ? -1 : use(scope, v.name, "an output of the graph"));
    return made;
  }

  int define(Scope& scope, const std::string& name) {
    const int v = new_value();
    scope.names[name] = v;
    return v;
  }
  int use(const Scope& scope, const std::string& name, const std::string& who) const {
    const std::optional<int> v = scope.find(name);
    require<FormatError>(v.has_value(), "[onnx] nothing computes '{}', which {} needs before it", name, who);
    return *v;
  }
  void constant(Scope& scope, const std::string& name, std::shared_ptr<const TensorDef> def, bool from_node = false) {
    const int v = define(scope, name);
    if (def->type != ElementType::string && !element_type_info(int64_t(def->type)).dtype)
      missing_.add(format("tensors of element type {}", element_type_info(int64_t(def->type)).name), name);
    constant_of_[v] = plan_.constants.size();
    plan_.constants.push_back({.value = v, .from_node = from_node, .key = name, .def = std::move(def)});
  }

  void nodes(const std::vector<NodeDef>& defs, Scope& scope, const OpsetImports& opsets, const Attributes* attributes, int depth,
      std::vector<PlanNode>& into) {
    for (const NodeDef* def : in_order(defs)) node(*def, scope, opsets, attributes, depth, into);
  }

  // The node as it stands in the file; in a function, with the attributes of the call.
  std::shared_ptr<const NodeDef> with_attributes(const NodeDef& def, const Attributes* attributes) {
    const bool refers =
        std::any_of(def.attributes.begin(), def.attributes.end(), [](const AttributeDef& a) { return !a.reference.empty(); });
    if (!refers) return std::shared_ptr<const NodeDef>(model_, &def);
    auto copy = std::make_shared<NodeDef>(def);
    copy->attributes.clear();
    for (const AttributeDef& a : def.attributes) {
      if (a.reference.empty()) {
        copy->attributes.push_back(a);
        continue;
      }
      const auto found = attributes ? attributes->find(a.reference) : Attributes::const_iterator();
      if (!attributes || found == attributes->end()) continue;  // not given, and without a default: the operator's own default counts
      copy->attributes.push_back(*found->second);
      copy->attributes.back().name = a.name;
    }
    kept_.push_back(copy);
    return copy;
  }

  std::optional<FunctionCall> function_of(const NodeDef& def, int64_t version) const {
    const auto found = functions_.find({def.domain, def.op_type, def.overload});
    if (found != functions_.end()) return FunctionCall{found->second, found->second->opsets};
    if (const FunctionDef* f = standard_function(def.domain, def.op_type, version)) return FunctionCall{f, f->opsets};
    return {};
  }

  void node(const NodeDef& original, Scope& scope, const OpsetImports& opsets, const Attributes* attributes, int depth,
      std::vector<PlanNode>& into) {
    require<FormatError>(++nodes_ <= kMostNodes, "[onnx] the model has more than {} nodes, functions included", kMostNodes);
    const std::shared_ptr<const NodeDef> def = with_attributes(original, attributes);
    const auto import = opsets.find(def->domain);
    const int64_t version = import == opsets.end() ? 1 : import->second;
    const std::string who = format("node '{}' ({})", def->name, def->op_type);
    const bool is_local = functions_.contains({def->domain, def->op_type, def->overload});
    const Operator* op = is_local ? nullptr : find_operator(def->domain, def->op_type, version);
    if (op && def->domain.empty() && def->op_type == "Constant" && def->outputs.size() == 1)
      if (const AttributeDef* value = def->find("value"); value && value->tensors.size() == 1)
        return constant(scope, def->outputs[0], std::shared_ptr<const TensorDef>(def, &value->tensors[0]), true);
    if (!op) {
      if (const std::optional<FunctionCall> f = function_of(*def, version)) return inline_call(*def, *f, scope, opsets, depth, into);
      missing_.add(format("{} of {} {}", def->op_type, domain_text(def->domain), version),
          def->name.empty() && !def->outputs.empty() ? "-> " + def->outputs[0] : def->name);
    }
    PlanNode made{.op = op, .def = def, .opset = version};
    for (const std::string& name : def->inputs) made.inputs.push_back(name.empty() ? -1 : use(scope, name, who));
    for (const AttributeDef& a : def->attributes)
      for (const auto& g : a.graphs) {
        Scope inner{&scope};
        made.graphs.emplace_back(a.name, std::make_shared<const PlanGraph>(graph(*g, g->inputs, inner, opsets, attributes, depth + 1)));
      }
    for (const std::string& name : def->outputs) made.outputs.push_back(name.empty() ? -1 : define(scope, name));
    count(*def);
    into.push_back(std::move(made));
  }

  void inline_call(
      const NodeDef& def, const FunctionCall& call, Scope& scope, const OpsetImports& opsets, int depth, std::vector<PlanNode>& into) {
    require<FormatError>(depth < kDeepest, "[onnx] functions call each other more than {} deep: '{}'", kDeepest, def.op_type);
    const FunctionDef& f = *call.function;
    Scope inside;
    for (size_t i = 0; i < f.inputs.size(); ++i)
      inside.names[f.inputs[i]] = i < def.inputs.size() && !def.inputs[i].empty() ? use(scope, def.inputs[i], def.op_type) : -1;
    Attributes attributes;
    for (const AttributeDef& a : f.attributes) attributes[a.name] = &a;
    for (const AttributeDef& a : def.attributes) attributes[a.name] = &a;
    OpsetImports own = opsets;
    for (const auto& [domain, version] : call.opsets) own[domain] = version;
    nodes(f.nodes, inside, own, &attributes, depth + 1, into);
    for (size_t i = 0; i < def.outputs.size() && i < f.outputs.size(); ++i)
      if (!def.outputs[i].empty()) scope.names[def.outputs[i]] = use(inside, f.outputs[i], f.name);
    require<FormatError>(def.outputs.size() <= f.outputs.size(), "[onnx] function '{}' has {} outputs: got {}", f.name,
        int64_t(f.outputs.size()), int64_t(def.outputs.size()));
  }

  void count(const NodeDef& def) {
    const std::string name = def.domain.empty() ? def.op_type : def.domain + "::" + def.op_type;
    const auto [found, is_new] = counted_.try_emplace(name, plan_.operators.size());
    if (is_new) plan_.operators.emplace_back(name, 0);
    ++plan_.operators[found->second].second;
  }

  // A value dies in the graph that made it, at the last node that reads it or whose graphs do. Constants and outputs never do.
  void find_deaths(PlanGraph& g) {
    std::unordered_map<int, size_t> last;
    std::set<int> own(g.inputs.begin(), g.inputs.end());
    for (const PlanNode& n : g.nodes) own.insert(n.outputs.begin(), n.outputs.end());
    for (size_t i = 0; i < g.nodes.size(); ++i) {
      for (const int v : g.nodes[i].outputs) last[v] = i;  // it may be unused
      note_uses(g.nodes[i], i, last);
    }
    for (const int v : g.outputs) own.erase(v);
    own.erase(-1);
    for (const auto& [v, i] : last)
      if (own.contains(v)) {
        std::vector<int>& made = g.nodes[i].outputs;
        if (std::find(made.begin(), made.end(), v) == made.end()) g.nodes[i].dies.push_back(v);
        else *std::find(made.begin(), made.end(), v) = -1;
      }
    for (PlanNode& n : g.nodes)
      for (auto& [name, inner] : n.graphs) find_deaths(const_cast<PlanGraph&>(*inner));
  }
  void note_uses(const PlanNode& n, size_t at, std::unordered_map<int, size_t>& last) const {
    for (const int v : n.inputs) last[v] = at;
    for (const auto& [name, g] : n.graphs) {
      for (const int v : g->outputs) last[v] = at;
      for (const PlanNode& inner : g->nodes) note_uses(inner, at, last);
    }
  }

  // ---- what the constants are for

  struct Uses {
    bool any = false, computed_with = false, as_state = false, beside_device = false;
  };

  void choose_roles() {
    std::vector<Uses> uses(size_t(plan_.values));
    std::vector<bool> on_host(size_t(plan_.values), false);
    for (const PlanConstant& c : plan_.constants) on_host[size_t(c.value)] = is_shape_like(c);
    note_roles(plan_.graph, uses, on_host);
    for (PlanConstant& c : plan_.constants) {
      c.meets_device = uses[size_t(c.value)].beside_device;
      c.role = role_of(c, uses[size_t(c.value)]);
    }
  }
  static PlanConstant::Role role_of(const PlanConstant& c, const Uses& u) {
    using Role = PlanConstant::Role;
    if (is_shape_like(c)) return Role::host;
    if (!is_floating(dtype_of(int64_t(c.def->type)))) return Role::buffer;
    if (u.any && !u.computed_with) return Role::host;  // scales of a Resize: only their values count
    if (u.computed_with && !u.beside_device && c.def->shape.numel() <= kMostFloatsOnHost) return Role::host;
    return c.from_node || u.as_state ? Role::buffer : Role::parameter;
  }
  static bool is_shape_like(const PlanConstant& c) {
    if (c.def->type == ElementType::string) return true;
    const bool floating = is_floating(dtype_of(int64_t(c.def->type)));
    return floating ? c.from_node && c.def->shape.numel() <= kMostFloatsOnHost : c.def->shape.numel() <= kMostOnHost;
  }
  static bool makes_host_values(const Operator& op) { return op.domain.empty() && (op.name == "Shape" || op.name == "Size"); }

  // Follows what is on the host for certain, so that a small constant that meets only such values stays there as well.
  void note_roles(const PlanGraph& g, std::vector<Uses>& uses, std::vector<bool>& on_host) {
    for (const PlanNode& n : g.nodes) {
      bool any_host = false, all_others_host = true;
      for (size_t i = 0; i < n.inputs.size(); ++i) {
        const int v = n.inputs[i];
        if (v < 0 || (i < 32 && n.op->reads >> i & 1)) continue;
        if (on_host[size_t(v)]) any_host = true;
        else if (!is_small_float(v)) all_others_host = false;
      }
      const bool stays = any_host && all_others_host && n.graphs.empty();
      for (size_t i = 0; i < n.inputs.size(); ++i) {
        const int v = n.inputs[i];
        if (v < 0) continue;
        Uses& u = uses[size_t(v)];
        u.any = true;
        if (i < 32 && n.op->reads >> i & 1) continue;
        u.computed_with = true;
        u.as_state |= i < 32 && (n.op->state >> i & 1);
        u.beside_device |= !stays;
      }
      for (const int v : n.outputs)
        if (v >= 0) on_host[size_t(v)] = stays || makes_host_values(*n.op);
      for (const auto& [name, inner] : n.graphs) {
        note_roles(*inner, uses, on_host);
        for (const int v : inner->outputs)
          if (v >= 0) uses[size_t(v)].any = uses[size_t(v)].computed_with = uses[size_t(v)].beside_device = true;
      }
    }
    if (&g == &plan_.graph)
      for (const int v : g.outputs)
        if (v >= 0) uses[size_t(v)].any = uses[size_t(v)].computed_with = uses[size_t(v)].beside_device = true;
  }
  bool is_small_float(int v) const {
    const auto found = constant_of_.find(v);
    return found != constant_of_.end() && plan_.constants[found->second].def->shape.numel() <= kMostFloatsOnHost;
  }

  // Dots make modules of names, so that the keys of the state dict are the names of the file. A name that cannot be one has underscores.
  void name_constants() {
    std::set<std::string> modules, tensors;
    for (PlanConstant& c : plan_.constants) {
      if (c.role == PlanConstant::Role::host) continue;
      if (!place(c.key, modules, tensors)) {
        std::replace(c.key.begin(), c.key.end(), '.', '_');
        if (c.key.empty()) c.key = "_";
        const std::string plain = c.key;
        for (int n = 2; !place(c.key, modules, tensors); ++n) c.key = plain + "_" + std::to_string(n);
      }
      c.path = parts_of(c.key);
    }
  }
  static std::vector<std::string> parts_of(const std::string& key) {
    std::vector<std::string> parts{""};
    for (const char c : key)
      if (c == '.') parts.emplace_back();
      else parts.back() += c;
    return parts;
  }
  static bool place(const std::string& key, std::set<std::string>& modules, std::set<std::string>& tensors) {
    const std::vector<std::string> parts = parts_of(key);
    if (parts.size() > size_t(kDeepest) || modules.contains(key) || tensors.contains(key)) return false;
    for (const std::string& p : parts)
      if (p.empty()) return false;
    std::string above;
    std::vector<std::string> made;
    for (size_t i = 0; i + 1 < parts.size(); ++i) {
      above += (i ? "." : "") + parts[i];
      if (tensors.contains(above)) return false;
      made.push_back(above);
    }
    modules.insert(made.begin(), made.end());
    tensors.insert(key);
    return true;
  }

  std::shared_ptr<const ModelDef> model_;
  Plan& plan_;
  Missing missing_;
  std::map<FunctionName, const FunctionDef*> functions_;
  std::unordered_map<int, size_t> constant_of_;
  std::unordered_map<std::string, size_t> counted_;
  std::deque<std::shared_ptr<const NodeDef>> kept_;  // attributes of calls are referred to while their functions are inlined
  int64_t nodes_ = 0;
};

}  // namespace

std::shared_ptr<const Plan> make_plan(std::shared_ptr<const ModelDef> model) {
  auto plan = std::make_shared<Plan>();
  Planner(std::move(model), *plan).run();
  return plan;
}

}  // namespace pyburn::onnx
