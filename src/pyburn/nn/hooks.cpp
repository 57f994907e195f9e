#include "pyburn/nn/hooks.h"

namespace pyburn::nn {

Hooks::Hooks(const Hooks& o, uint8_t& detours)
    : CallHooks(o, detours), save_pre_(o.save_pre_), save_(o.save_), load_pre_(o.load_pre_), load_(o.load_), tensors_(o.tensors_) {}

void Hooks::remove(int64_t id) {
  const auto from = [&](auto&... lists) { (remove_from(lists, id), ...); };
  from(save_pre_, save_, load_pre_, load_, tensors_);
  CallHooks::remove(id);
}

HookHandle Hooks::register_tensor(std::string name, TensorRule rule) {
  std::erase_if(tensors_, [&](const auto& hook) { return hook.function.name == name; });
  return add(tensors_, {std::move(name), std::move(rule)});
}

TensorHandle Hooks::tensor(const Module& m, std::string_view name) const {
  for (const auto& hook : tensors_)
    if (hook.function.name == name) return TensorRule(hook.function.rule)(m);
  return {};
}

// Lists are copied before they are run: a hook may add others, or remove itself.
void Hooks::before_save(Module& m, const std::string& prefix, bool keep_vars) {
  for (const List<SavePreHook> list = save_pre_; const auto& hook : list) hook.function(m, prefix, keep_vars);
}
void Hooks::after_save(Module& m, NamedTensors& state, const std::string& prefix) {
  for (const List<SaveHook> list = save_; const auto& hook : list) hook.function(m, state, prefix);
}
void Hooks::before_load(Module& m, StateLoad& load, NamedTensors& state, const std::string& prefix) {
  for (const List<LoadPreHook> list = load_pre_; const auto& hook : list) hook.function(m, load, state, prefix);
}
void Hooks::after_load(Module& m, StateLoad& load) {
  for (const List<LoadHook> list = load_; const auto& hook : list) hook.function(m, load);
}

void HooksOfAllModules::remove(int64_t id) {
  const auto from = [&](auto&... lists) { (remove_from(lists, id), ...); };
  from(parameters_, buffers_, modules_);
  CallHooks::remove(id);
}

void HooksOfAllModules::on_registration(Module& m, Entry& entry) const {
  if (entry.kind == Entry::Kind::module) {
    for (const List<ModuleRegistration> list = modules_; const auto& hook : list)
      if (const Ref<Module> other = hook.function(m, entry.name, entry.module)) entry.module = other;
    return;
  }
  if (entry.kind == Entry::Kind::parameter && !entry.tensor.defined()) return;  // declared, absent
  for (const List<TensorRegistration> list = entry.kind == Entry::Kind::parameter ? parameters_ : buffers_; const auto& hook : list)
    if (const TensorHandle other = hook.function(m, entry.name, entry.tensor); other.defined()) entry.tensor = other;
}

HooksOfAllModules& hooks_of_all_modules() {
  static const auto hooks = std::make_shared<HooksOfAllModules>(Module::all_detours, Module::kHooks);
  return *hooks;
}

}  // namespace pyburn::nn
