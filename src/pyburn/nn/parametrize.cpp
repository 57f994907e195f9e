#include "pyburn/nn/parametrize.h"

#include <unordered_map>

#include "pyburn/decorators/autodiff/autograd.h"
#include "pyburn/nn/module_dict.h"
#include "pyburn/ops/copy.h"
#include "pyburn/ops/generated/copy.h"
#include "pyburn/support/error.h"

namespace pyburn::nn {
namespace {

constexpr const char* kFolder = "parametrizations";

thread_local int cached_scopes = 0;
thread_local std::unordered_map<const ParametrizationList*, TensorHandle> cached_values;

Ref<ModuleDict> folder_of(const Module& module) {
  for (const Entry& e : module.entries())
    if (e.kind == Entry::Kind::module && e.name == kFolder) return Ref<ModuleDict>(dynamic_cast<ModuleDict*>(e.module.get()));
  return {};
}

void add_tensor(Module& module, const std::string& name, const TensorHandle& tensor) {
  if (tensor.has(Flag::parameter)) module.register_parameter(name, tensor);
  else module.register_buffer(name, tensor);
}

std::optional<Tensors> way_back(Module& parametrization, const TensorHandle& value) {
  auto* p = dynamic_cast<Parametrization*>(&parametrization);
  return p ? p->right_inverse(value) : std::nullopt;
}

void check_kept(const char* what, const TensorHandle& before, const TensorHandle& after) {
  require<ValueError>(before.dtype() == after.dtype(), "{} may not change the dtype of the tensor, unless it is unsafe: got {} after {}",
      what, after.dtype(), before.dtype());
  require<ValueError>(before.shape() == after.shape(), "{} may not change the shape of the tensor, unless it is unsafe: got {} after {}",
      what, after.shape(), before.shape());
}

}  // namespace

TensorHandle Parametrization::compute(const Tensors& originals) {
  require<ValueError>(originals.size() == 1, "{} takes a single tensor: got {}", display_name(), originals.size());
  return call(originals[0]);
}

ParametrizationList::ParametrizationList(Ref<Module> first, const TensorHandle& tensor, bool unsafe) : unsafe_(unsafe) {
  const autograd::NoGrad no_grad;
  const std::optional<Tensors> found = way_back(*first, tensor);
  append(std::move(first));
  const Meta before = tensor.meta();
  if (!found || found->size() == 1) {
    const TensorHandle original = found ? (*found)[0] : tensor;
    require<ValueError>(original.dtype() == tensor.dtype() && &original.device() == &tensor.device(),
        "When `right_inverse` outputs one tensor, it may not change its dtype or device: got {} for {}", original.dtype(), tensor.dtype());
    if (!original.is_same(tensor)) autograd::set_data(tensor, fn::detach(original));  // the same tensor to optimisers
    add_tensor(*this, "original", tensor);
  } else {
    for (const TensorHandle& part : *found) {
      const TensorHandle plain = fn::clone(fn::detach(part));
      const bool parameter = tensor.has(Flag::parameter);
      add_tensor(*this, "original" + pyburn::to_text(int64_t(count_++)), parameter ? Parameter(plain, tensor.requires_grad()) : plain);
    }
  }
  if (unsafe) return;
  const TensorHandle after = value();
  require<ValueError>(after.dtype() == before.dtype && after.shape() == before.shape,
      "Registering a parametrization may not change the shape or dtype of the tensor, unless it is unsafe: got {} of {} after {} of {}",
      after.shape(), after.dtype(), before.shape, before.dtype);
}

void ParametrizationList::add(Ref<Module> next, bool unsafe) {
  if (!unsafe) {
    const autograd::NoGrad no_grad;
    const TensorHandle before = value();
    auto* p = dynamic_cast<Parametrization*>(next.get());
    const TensorHandle after = p ? p->compute({before}) : next->call(before);
    check_kept("Registering a parametrization", before, after);
    if (const std::optional<Tensors> back = way_back(*next, after)) {
      require<ValueError>(back->size() == 1, "parametrization.right_inverse must return one tensor: got {}", back->size());
      check_kept("right_inverse", before, (*back)[0]);
    }
  }
  unsafe_ = unsafe_ || unsafe;
  append(std::move(next));
}

Tensors ParametrizationList::originals() const {
  if (count_ == 0) return {tensor("original")};
  Tensors list;
  for (int i = 0; i < count_; ++i) list.push_back(tensor("original" + pyburn::to_text(int64_t(i))));
  return list;
}

TensorHandle ParametrizationList::value() {
  if (cached_scopes)
    if (const auto it = cached_values.find(this); it != cached_values.end()) return it->second;
  Tensors now = originals();
  for (const Ref<Module>& m : modules()) {
    auto* p = dynamic_cast<Parametrization*>(m.get());
    require<ValueError>(p || now.size() == 1, "{} takes a single tensor: got {}", m->display_name(), now.size());
    now = {p ? p->compute(now) : m->call(now[0])};
  }
  if (cached_scopes) cached_values[this] = now[0];
  return now[0];
}

void ParametrizationList::set_value(const TensorHandle& value) {
  const autograd::NoGrad no_grad;
  Tensors now = {value};
  const std::vector<Ref<Module>> all = modules();
  for (size_t i = all.size(); i-- > 0;) {
    const std::optional<Tensors> back = way_back(*all[i], now[0]);
    require<Error>(back.has_value(), "parametrization {} does not implement right_inverse.", all[i]->display_name());
    now = *back;
  }
  const Tensors to = originals();
  require<ValueError>(now.size() == to.size(), "'right_inverse' must return {} tensors. Got {}.", to.size(), now.size());
  for (int i = 0; i < int(to.size()); ++i) {
    require<ValueError>(now[i].dtype() == to[i].dtype(),
        "The tensor returned by `right_inverse` has dtype {} while `original` has dtype {}", now[i].dtype(), to[i].dtype());
    autograd::set_data(to[i], fn::clone(fn::detach(now[i])));
  }
  cached_values.erase(this);
}

Ref<ParametrizationList> parametrizations_of(const Module& module, std::string_view name) {
  const Ref<ModuleDict> folder = folder_of(module);
  if (!folder || !folder->contains(name)) return {};
  return Ref<ParametrizationList>(dynamic_cast<ParametrizationList*>(folder->at(name).get()));
}

namespace parametrize {

void register_parametrization(Module& module, const std::string& name, Ref<Module> parametrization, bool unsafe) {
  require<ValueError>(bool(parametrization), "expected a module that computes '{}'", name);
  parametrization->train(module.training());
  if (const Ref<ParametrizationList> list = parametrizations_of(module, name)) return list->add(std::move(parametrization), unsafe);
  const Entry* e = module.find(name);
  require<ValueError>(e && e->kind != Entry::Kind::module && e->tensor.defined(),
      "Module '{}' does not have a parameter, a buffer, or a parametrized element with name '{}'", module.display_name(), name);
  require<ValueError>(!module.is_shapeless(name), "'{}' of {} has no shape yet: call the module once", name, module.display_name());
  const auto list = make_ref<ParametrizationList>(std::move(parametrization), e->tensor, unsafe);
  module.erase(name);
  if (!folder_of(module)) module.register_module(kFolder, make_ref<ModuleDict>());
  folder_of(module)->set(name, list);
}

bool is_parametrized(const Module& module) {
  const Ref<ModuleDict> folder = folder_of(module);
  return folder && folder->size() > 0;
}
bool is_parametrized(const Module& module, std::string_view name) { return bool(parametrizations_of(module, name)); }

void assign(Module& module, const std::string& name, const TensorHandle& value) {
  if (const Ref<ParametrizationList> list = parametrizations_of(module, name)) return list->set_value(value);
  const autograd::NoGrad no_grad;
  const TensorHandle tensor = module.tensor(name);
  require<ValueError>(tensor.defined(), "{} has no tensor '{}' to assign to", module.display_name(), name);
  copy_into(tensor, value);
}

void remove_parametrizations(Module& module, const std::string& name, bool leave_parametrized) {
  const Ref<ParametrizationList> list = parametrizations_of(module, name);
  require<ValueError>(bool(list), "Module {} does not have a parametrization on {}", module.display_name(), name);
  TensorHandle tensor;
  if (list->is_tensor()) {
    tensor = list->originals()[0];
    const autograd::NoGrad no_grad;
    if (leave_parametrized) autograd::set_data(tensor, fn::detach(list->value()));
  } else {
    require<ValueError>(leave_parametrized,
        "Cannot leave unparametrized (`leave_parametrized=False`) a tensor that is parametrized in terms of a sequence of tensors.");
    const autograd::GradMode with_grad(true);
    tensor = list->value();
    if (tensor.requires_grad()) tensor = Parameter(tensor);
  }
  const Ref<ModuleDict> folder = folder_of(module);
  folder->pop(name);
  if (folder->size() == 0) module.erase(kFolder);
  add_tensor(module, name, tensor);
}

void transfer(Module& from, Module& to, std::optional<std::string> name) {
  const Ref<ModuleDict> folder = folder_of(from);
  require<ValueError>(!name || (folder && folder->contains(*name)), "Module {} does not have a parametrization on {}", from.display_name(),
      name.value_or(""));
  if (!folder) return;
  for (const std::string& key : name ? std::vector<std::string>{*name} : folder->keys()) {
    const Ref<ParametrizationList> list = parametrizations_of(from, key);
    if (!to.find(key) && !is_parametrized(to, key)) to.register_parameter(key, Parameter(fn::clone(fn::detach(list->value()))));
    for (const Ref<Module>& m : list->modules()) register_parametrization(to, key, m, list->is_unsafe());
    const Tensors sources = list->originals(), targets = parametrizations_of(to, key)->originals();
    for (int64_t i = 0; i < sources.size(); ++i) autograd::set_data(targets[i], fn::clone(fn::detach(sources[i])));
  }
}

Cached::Cached() { ++cached_scopes; }
Cached::~Cached() {
  if (--cached_scopes == 0) cached_values.clear();
}

}  // namespace parametrize
}  // namespace pyburn::nn
