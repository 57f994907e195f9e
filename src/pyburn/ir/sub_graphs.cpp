// Graphs inside operations.
#include "pyburn/ir/graph.h"
#include "pyburn/ir/random_state.h"

namespace pyburn {
namespace {

class GraphFields final : public FieldVisitor {
 public:
  SmallVector<Ref<Graph>, 2> found;
  void field(std::string_view, bool) override {}
  void field(std::string_view, int64_t) override {}
  void field(std::string_view, double) override {}
  void field(std::string_view, const std::string&) override {}
  void field(std::string_view, DType) override {}
  void field(std::string_view, const Dims&) override {}
  void field(std::string_view, const Scalar&) override {}
  void field(std::string_view, const std::optional<Scalar>&) override {}
  void field(std::string_view, const Ref<Graph>& v) override {
    if (v) found.push_back(v);
  }
};

class GraphChanger final : public FieldEditor {
 public:
  explicit GraphChanger(const std::function<Ref<Graph>(const Graph&)>& change) : change_(change) {}
  void field(std::string_view, bool&) override {}
  void field(std::string_view, int64_t&) override {}
  void field(std::string_view, double&) override {}
  void field(std::string_view, std::string&) override {}
  void field(std::string_view, DType&) override {}
  void field(std::string_view, Dims&) override {}
  void field(std::string_view, Scalar&) override {}
  void field(std::string_view, std::optional<Scalar>&) override {}
  void field(std::string_view, Ref<Graph>& v) override {
    if (v) v = change_(*v);
  }

 private:
  const std::function<Ref<Graph>(const Graph&)>& change_;
};

}  // namespace

SmallVector<Ref<Graph>, 2> sub_graphs(OpRef op) {
  GraphFields fields;
  op.info->attrs->visit(op.attrs, fields);
  return std::move(fields.found);
}

Operation with_sub_graphs(const Operation& op, const std::function<Ref<Graph>(const Graph&)>& change) {
  GraphChanger changer(change);
  return op.edited(changer);
}

bool draws_random_numbers(OpRef op) {
  if (op.info->kind == Kind::random || random_state_of(op)) return true;
  for (const Ref<Graph>& g : sub_graphs(op))
    for (const GraphNode& n : g->nodes)
      if (draws_random_numbers(n.op.ref())) return true;
  return false;
}

}  // namespace pyburn
