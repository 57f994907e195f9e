// Module hooks: functions attached to a module, or to all modules. Call hooks are in call_hooks.h; these run when state is saved or loaded,
// and when something is registered.
#pragma once
#include "pyburn/nn/call_hooks.h"
#include "pyburn/nn/module_state.h"

namespace pyburn::nn {

// The hooks of one module.
class Hooks final : public CallHooks {
 public:
  using CallHooks::CallHooks;
  Hooks(const Hooks& other, uint8_t& detours);

  using SavePreHook = std::function<void(Module&, const std::string& prefix, bool keep_vars)>;
  using SaveHook = std::function<void(Module&, NamedTensors& state, const std::string& prefix)>;
  using LoadPreHook = std::function<void(Module&, StateLoad& load, NamedTensors& state, const std::string& prefix)>;
  using LoadHook = std::function<void(Module&, StateLoad& load)>;
  HookHandle register_state_dict_pre_hook(SavePreHook hook) { return add(save_pre_, std::move(hook)); }
  // Called after the module and its children were saved; it may change the result.
  HookHandle register_state_dict_post_hook(SaveHook hook) { return add(save_, std::move(hook)); }
  // Called before loading; it may rename or change tensors whose names begin with `prefix`.
  HookHandle register_load_state_dict_pre_hook(LoadPreHook hook) { return add(load_pre_, std::move(hook)); }
  // Called after loading; it may change the lists of mismatched keys.
  HookHandle register_load_state_dict_post_hook(LoadHook hook) { return add(load_, std::move(hook)); }

  // module.tensor(name) returns the result of the function if nothing is registered under that name: computed weights.
  using TensorRule = std::function<TensorHandle(const Module&)>;
  HookHandle register_tensor(std::string name, TensorRule rule);  // replaces an existing function

  void remove(int64_t id) override;

  // Called by Module.
  void before_save(Module& m, const std::string& prefix, bool keep_vars);
  void after_save(Module& m, NamedTensors& state, const std::string& prefix);
  void before_load(Module& m, StateLoad& load, NamedTensors& state, const std::string& prefix);
  void after_load(Module& m, StateLoad& load);
  TensorHandle tensor(const Module& m, std::string_view name) const;  // undefined if there is no rule

 private:
  struct NamedRule {
    std::string name;
    TensorRule rule;
  };
  List<SavePreHook> save_pre_;
  List<SaveHook> save_;
  List<LoadPreHook> load_pre_;
  List<LoadHook> load_;
  List<NamedRule> tensors_;
};

// Hooks of all modules: around calls, before the module's own, and when any module registers something.
class HooksOfAllModules final : public CallHooks {
 public:
  using CallHooks::CallHooks;
  // The result of a hook is registered instead, unless it is undefined or null.
  using TensorRegistration = std::function<TensorHandle(Module&, const std::string& name, const TensorHandle&)>;
  using ModuleRegistration = std::function<Ref<Module>(Module&, const std::string& name, const Ref<Module>&)>;
  HookHandle register_parameter_registration_hook(TensorRegistration hook) { return add(parameters_, std::move(hook)); }
  HookHandle register_buffer_registration_hook(TensorRegistration hook) { return add(buffers_, std::move(hook)); }
  HookHandle register_module_registration_hook(ModuleRegistration hook) { return add(modules_, std::move(hook)); }

  void remove(int64_t id) override;
  void on_registration(Module& m, Entry& entry) const;  // called by Module

 private:
  List<TensorRegistration> parameters_, buffers_;
  List<ModuleRegistration> modules_;
};
HooksOfAllModules& hooks_of_all_modules();

}  // namespace pyburn::nn
