#include "pyburn/nn/module.h"

#include <unordered_set>

#include "pyburn/decorators/autodiff/autograd.h"
#include "pyburn/ir/fields.h"
#include "pyburn/nn/clip_grad.h"
#include "pyburn/nn/hooks.h"
#include "pyburn/nn/module_changes.h"
#include "pyburn/nn/parametrize.h"
#include "pyburn/ops/generated/copy.h"
#include "pyburn/support/error.h"

namespace pyburn::nn {
namespace {

std::string joined(const std::string& prefix, const std::string& name) { return prefix.empty() ? name : prefix + "." + name; }

// Calls visit(name, module) for a module and all submodules. Takes no reference to the module itself: a constructor may use it before any
// reference exists.
template <class Visit>
void walk(Module& root, const std::string& prefix, bool remove_duplicate, Visit visit) {
  std::unordered_set<const Module*> met;
  std::vector<const Module*> above;  // a module above itself would make the walk endless even where duplicates are wanted
  auto step = [&](auto& self, Module& m, const std::string& name) -> void {
    if (remove_duplicate ? !met.insert(&m).second : std::find(above.begin(), above.end(), &m) != above.end()) return;
    visit(name, m);
    above.push_back(&m);
    for (const Entry& e : m.entries())
      if (e.module) self(self, *e.module, joined(name, e.name));
    above.pop_back();
  };
  step(step, root, prefix);
}

}  // namespace

Module::HostCalls Module::host_calls;
uint8_t Module::all_detours = 0;

Module::Module(const Module& other)
    : Adoptable(), entries_(other.entries_), detours_(uint8_t(other.detours_ & kHooks)), training_(other.training_) {
  if (other.hooks_) hooks_ = std::make_shared<Hooks>(*other.hooks_, detours_);
}

Ref<Module> Module::shallow_copy() const {
  Copies::check_class(*this, typeid(Module));
  return make_ref<Module>(*this);
}

void Module::replace_parts(Copies& copies) {
  for (Entry& e : entries_) copies.replace(e.tensor, e.module);
  hold_copies(copies);
}

TensorHandle Module::forward(const TensorHandle&) {
  fail<UnsupportedOp>("Module [{}] is missing the required \"forward\" function", display_name());
}

TensorHandle Module::call_by_detour(const TensorHandle& x) {
  const bool host = (detours_ | all_detours) & kHost;
  const auto run = [&](const TensorHandle& input) { return host ? host_calls.call(*this, input) : forward(input); };
  if (!has_call_hooks()) return run(x);
  return call_between_hooks({x}, [&](const Tensors& inputs) { return Tensors{run(inputs[0])}; })[0];
}

// The lists are copied before they are run: a hook may add others, or remove itself.
Tensors Module::call_between_hooks(const Tensors& inputs, const std::function<Tensors(const Tensors&)>& forward) {
  CallHooks::Around around = hooks_of_all_modules().around();
  if (hooks_) around.append(hooks_->around());
  return run_between(around, *this, inputs, forward);
}

Hooks& Module::hooks() {
  if (!hooks_) hooks_ = std::make_shared<Hooks>(detours_, kHooks);
  return *hooks_;
}

AnyConfig Module::config() {
  static NoAttrs none;
  return {&attr_type<NoAttrs>, &none};
}

Entry* Module::find(std::string_view name) {
  for (Entry& e : entries_)
    if (e.name == name) return &e;
  return nullptr;
}

TensorHandle Module::tensor(std::string_view name) const {
  for (const Entry& e : entries_)
    if (e.kind != Entry::Kind::module && e.name == name) return e.tensor;
  if (const Ref<ParametrizationList> list = parametrizations_of(*this, name)) return list->value();
  if (hooks_)
    if (TensorHandle computed = hooks_->tensor(*this, name); computed.defined()) return computed;
  if (calls_host()) return host_calls.tensor(*this, name);
  fail<ValueError>("'{}' object has no attribute '{}'", display_name(), name);
}

void Module::erase(std::string_view name) {
  note_module_change();
  std::erase_if(entries_, [&](const Entry& e) { return e.name == name; });
}

void Module::clear() {
  const std::vector<Entry> dying = std::move(entries_);  // their end may call back into this module
  entries_.clear();
}

void Module::set_children(NamedModules children) {
  std::vector<Entry> dying;  // their end may call back into this module
  std::erase_if(entries_, [&](Entry& e) {
    if (e.kind != Entry::Kind::module) return false;
    dying.push_back(std::move(e));
    return true;
  });
  for (auto& [name, m] : children) entries_.push_back({std::move(name), Entry::Kind::module, true, {}, std::move(m)});
}

std::atomic<uint64_t>& module_changes() {
  static std::atomic<uint64_t> count{0};
  return count;
}

void Module::put(Entry entry) {
  note_module_change();
  if (Entry* old = find(entry.name)) *old = std::move(entry);
  else entries_.push_back(std::move(entry));
}

void Module::check_name(std::string_view name, const char* what) const {
  require<ValueError>(!name.empty(), "{} name can't be empty string \"\"", what);
  require<ValueError>(name.find('.') == name.npos, "{} name can't contain \".\", got: {}", what, name);
  for (const Entry& e : entries_) require<ValueError>(e.name != name, "attribute '{}' already exists", name);
}

TensorHandle Module::register_parameter(std::string name, const TensorHandle& parameter) {
  return enter({std::move(name), Entry::Kind::parameter, true, parameter, {}}).tensor;
}

TensorHandle Module::register_buffer(std::string name, const TensorHandle& buffer, bool persistent) {
  return enter({std::move(name), Entry::Kind::buffer, persistent, buffer, {}}).tensor;
}

Entry& Module::enter(Entry entry) {
  note_module_change();
  const bool parameter = entry.kind == Entry::Kind::parameter;
  check_name(entry.name, parameter ? "parameter" : entry.kind == Entry::Kind::buffer ? "buffer" : "module");
  hooks_of_all_modules().on_registration(*this, entry);
  require<DTypeError>(!parameter || !entry.tensor.defined() || entry.tensor.has(Flag::parameter),
      "cannot assign 'Tensor' object to parameter '{}' (Parameter or None required)", entry.name);
  return entries_.emplace_back(std::move(entry));
}

NamedModules Module::named_children() {
  NamedModules children;
  for (const Entry& e : entries_)
    if (e.module) children.emplace_back(e.name, e.module);
  return children;
}

NamedModules Module::named_modules(const std::string& prefix, bool remove_duplicate) {
  NamedModules found;
  walk(*this, prefix, remove_duplicate, [&](const std::string& name, Module& m) { found.emplace_back(name, Ref<Module>(&m)); });
  return found;
}

NamedTensors Module::named_tensors(Entry::Kind kind, const std::string& prefix, bool recurse, bool remove_duplicate) {
  NamedTensors found;
  std::unordered_set<const TensorImpl*> met;
  auto take = [&](const std::string& name, const Module& m) {
    for (const Entry& e : m.entries_)
      if (e.kind == kind && e.tensor.defined() && (!remove_duplicate || met.insert(e.tensor.impl()).second))
        found.emplace_back(joined(name, e.name), e.tensor);
  };
  if (recurse) walk(*this, prefix, remove_duplicate, take);
  else take(prefix, *this);
  return found;
}

NamedTensors Module::named_parameters(const std::string& prefix, bool recurse, bool remove_duplicate) {
  return named_tensors(Entry::Kind::parameter, prefix, recurse, remove_duplicate);
}
NamedTensors Module::named_buffers(const std::string& prefix, bool recurse, bool remove_duplicate) {
  return named_tensors(Entry::Kind::buffer, prefix, recurse, remove_duplicate);
}

std::vector<TensorHandle> Module::parameters(bool recurse) {
  std::vector<TensorHandle> list;
  for (auto& [name, t] : named_parameters("", recurse)) list.push_back(std::move(t));
  return list;
}
std::vector<TensorHandle> Module::buffers(bool recurse) {
  std::vector<TensorHandle> list;
  for (auto& [name, t] : named_buffers("", recurse)) list.push_back(std::move(t));
  return list;
}

Ref<Module> Module::get_submodule(std::string_view path) {
  Ref<Module> found(this);
  for (size_t at = 0; at < path.size();) {
    const std::string_view name = path.substr(at, path.find('.', at) - at);
    const Entry* e = found->find(name);
    require<ValueError>(e && e->module, "{} has no module `{}`", found->display_name(), name);
    found = Ref<Module>(e->module);
    at += name.size() + 1;
  }
  return found;
}

namespace {

// "0.linear.weight" -> "0.linear", "weight"
std::pair<std::string_view, std::string_view> split_last(std::string_view path) {
  const size_t dot = path.rfind('.');
  if (dot == path.npos) return {"", path};
  return {path.substr(0, dot), path.substr(dot + 1)};
}

}  // namespace

void Module::set_submodule(std::string_view path, Ref<Module> module, bool strict) {
  require<ValueError>(!path.empty(), "Cannot set the submodule without a target name!");
  require<ValueError>(bool(module), "`module` is not an nn.Module");
  const auto [above, name] = split_last(path);
  const Ref<Module> parent = get_submodule(above);
  const Entry* old = parent->find(name);
  require<ValueError>(old || !strict, "{} has no attribute `{}`", parent->display_name(), name);
  require<ValueError>(!old || old->kind == Entry::Kind::module, "`{}` is not an nn.Module", name);
  parent->put({std::string(name), Entry::Kind::module, true, {}, std::move(module)});
}

TensorHandle Module::get_tensor(std::string_view path, Entry::Kind kind) {
  const auto [above, name] = split_last(path);
  const Ref<Module> owner = get_submodule(above);
  const Entry* e = owner->find(name);
  require<ValueError>(e && e->kind == kind && e->tensor.defined(), "{} has no {} `{}`", owner->display_name(),
      kind == Entry::Kind::parameter ? "parameter" : "buffer", name);
  return e->tensor;
}

void Module::apply(const std::function<void(Module&)>& visit) {
  std::vector<const Module*> above;  // a module below itself would make the walk endless
  auto walk = [&](auto& self, Module& m) -> void {
    if (std::find(above.begin(), above.end(), &m) != above.end()) return;
    above.push_back(&m);
    for (const auto& [name, child] : m.named_children()) self(self, *child);
    above.pop_back();
    visit(m);
  };
  walk(walk, *this);
}

void Module::train(bool mode) {
  if (training_ != mode) note_module_change();
  training_ = mode;
  if (is_in_train_) return;  // below itself
  struct Leaving {
    bool& flag;
    ~Leaving() { flag = false; }
  } const leaving{is_in_train_};
  is_in_train_ = true;
  for (const auto& [name, child] : named_children()) {
    if (child->calls_host()) host_calls.train(*child, mode);
    else child->train(mode);
  }
}

void Module::zero_grad(bool set_to_none) { zero_gradients(parameters(), set_to_none); }

void Module::requires_grad_(bool requires_grad) {
  for (const TensorHandle& p : parameters()) autograd::set_requires_grad(p, requires_grad);
}

}  // namespace pyburn::nn
