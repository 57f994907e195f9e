#include "pyburn/ir/random_state.h"

#include "pyburn/ir/graph.h"

namespace pyburn {
namespace {

class StateFields final : public FieldVisitor {
 public:
  SeedAndOffset state;
  bool has_seed = false, has_offset = false;
  void field(std::string_view, bool) override {}
  void field(std::string_view name, int64_t v) override {
    if (name == "seed") state.seed = v, has_seed = true;
    if (name == "offset") state.offset = v, has_offset = true;
  }
  void field(std::string_view, double) override {}
  void field(std::string_view, const std::string&) override {}
  void field(std::string_view, DType) override {}
  void field(std::string_view, const Dims&) override {}
  void field(std::string_view, const Scalar&) override {}
  void field(std::string_view, const std::optional<Scalar>&) override {}
  void field(std::string_view, const Ref<Graph>&) override {}
};

class StateChanger final : public FieldEditor {
 public:
  explicit StateChanger(SeedAndOffset state) : state_(state) {}
  void field(std::string_view, bool&) override {}
  void field(std::string_view name, int64_t& v) override {
    if (name == "seed") v = state_.seed;
    if (name == "offset") v = state_.offset;
  }
  void field(std::string_view, double&) override {}
  void field(std::string_view, std::string&) override {}
  void field(std::string_view, DType&) override {}
  void field(std::string_view, Dims&) override {}
  void field(std::string_view, Scalar&) override {}
  void field(std::string_view, std::optional<Scalar>&) override {}
  void field(std::string_view, Ref<Graph>&) override {}

 private:
  SeedAndOffset state_;
};

}  // namespace

std::optional<SeedAndOffset> random_state_of(OpRef op) {
  StateFields fields;
  op.info->attrs->visit(op.attrs, fields);
  return fields.has_seed && fields.has_offset ? std::optional(fields.state) : std::nullopt;
}

Operation with_random_state(const Operation& op, SeedAndOffset state) {
  StateChanger changer(state);
  return op.edited(changer);
}

}  // namespace pyburn
