#include "pyburn/nn/module_copy.h"

#include "pyburn/decorators/autodiff/autograd.h"
#include "pyburn/decorators/autodiff/history.h"
#include "pyburn/nn/module.h"
#include "pyburn/ops/generated/copy.h"
#include "pyburn/support/error.h"

namespace pyburn::nn {
namespace {

// How many hold each part of a module. A copy that still holds one of them afterwards has a member that PB_MODULE does not list, and
// would work on the original.
class HolderCount {
 public:
  explicit HolderCount(const Module& m) : module_(m) {
    for (const Entry& e : m.entries()) before_.push_back(holders(e));
  }
  void check_unchanged() const {
    for (size_t i = 0; i < before_.size(); ++i) {
      const Entry& e = module_.entries()[i];
      require<UnsupportedOp>(holders(e) == before_[i],
          "a copy of {} would share '{}' with the original: list the member that refers to it in PB_MODULE({}, ...)", module_.type_name(),
          e.name, module_.type_name());
    }
  }

 private:
  static uint32_t holders(const Entry& e) {
    return e.module ? e.module->use_count() : e.tensor.defined() ? e.tensor.impl()->use_count() : 0;
  }
  const Module& module_;
  std::vector<uint32_t> before_;
};

}  // namespace

void Copies::check_class(const Module& module, const std::type_info& copied) {
  require<UnsupportedOp>(typeid(module) == copied, "{} cannot be copied: add PB_MODULE(...) to its class", module.type_name());
}

Ref<Module> Copies::of(const Ref<Module>& original) {
  if (!original) return {};
  if (const auto known = modules_.find(original.get()); known != modules_.end()) return known->second;
  require<UnsupportedOp>(!original->calls_host(), "{} is implemented in the host language, which copies it", original->display_name());
  const HolderCount holders(*original);
  const Ref<Module> made = original->shallow_copy();
  modules_.emplace(original.get(), made);  // before its parts: it may be below itself
  made->replace_parts(*this);
  holders.check_unchanged();
  return made;
}

TensorHandle Copies::of(const TensorHandle& original) {
  if (!original.defined()) return {};
  if (const auto known = tensors_.find(original.impl()); known != tensors_.end()) return known->second;
  require<GradientError>(autograd::is_leaf(original),
      "only tensors created explicitly by the user (graph leaves) support deepcopy: this one has a history; use detach() first");
  const TensorHandle values = fn::clone(fn::detach(original));
  const bool wanted = original.requires_grad();
  const TensorHandle made = original.has(Flag::parameter) ? Parameter(values, wanted) : values;
  if (wanted && !made.requires_grad()) autograd::set_requires_grad(made, true);
  tensors_.emplace(original.impl(), made);
  if (const TensorHandle gradient = autograd::grad_of(original); gradient.defined()) autograd::set_grad(made, of(gradient));
  return made;
}

}  // namespace pyburn::nn
