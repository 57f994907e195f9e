// Hooks: functions that a program adds to a module, or to all modules. Those around calls are told of in call_hooks.h; these run when state
// is saved or loaded, and when something is registered.
#pragma once
#include "pyburn/nn/call_hooks.h"
#include "pyburn/nn/module_state.h"

namespace pyburn::nn {

// Those of one module.
class Hooks final : public CallHooks {
 public:
  using CallHooks::CallHooks;
  Hooks(const Hooks& other, uint8_t& detours);

  using SavePreHook = std::function<void(Module&, const std::string& prefix, bool keep_vars)>;
  using SaveHook = std::function<void(Module&, NamedTensors& state, const std::string& prefix)>;
  using LoadPreHook = std::function<void(Module&, StateLoad& load, NamedTensors& state, const std::string& prefix)>;
  using LoadHook = std::function<void(Module&, StateLoad& load)>;
  HookHandle register_state_dict_pre_hook(SavePreHook hook) { return add(save_pre_, std::move(hook)); }
  // After the module and those below it were saved: it may change what was.
  HookHandle register_state_dict_post_hook(SaveHook hook) { return add(save_, std::move(hook)); }
  // It may rename or change what is about to be loaded: the tensors whose names begin with `prefix`.
  HookHandle register_load_state_dict_pre_hook(LoadPreHook hook) { return add(load_pre_, std::move(hook)); }
  // It may change the lists of keys that did not fit.
  HookHandle register_load_state_dict_post_hook(LoadHook hook) { return add(load_, std::move(hook)); }

  // module.tensor(name) is what the function gives, where nothing is registered under that name: weights made of others.
  using TensorRule = std::function<TensorHandle(const Module&)>;
  HookHandle register_tensor(std::string name, TensorRule rule);  // in the place of the one that was there

  void remove(int64_t id) override;

  // What Module calls.
  void before_save(Module& m, const std::string& prefix, bool keep_vars);
  void after_save(Module& m, NamedTensors& state, const std::string& prefix);
  void before_load(Module& m, StateLoad& load, NamedTensors& state, const std::string& prefix);
  void after_load(Module& m, StateLoad& load);
  TensorHandle tensor(const Module& m, std::string_view name) const;  // undefined where there is no rule

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

// Those of all modules: around calls, before the module's own, and when any module registers something.
class HooksOfAllModules final : public CallHooks {
 public:
  using CallHooks::CallHooks;
  // What a hook returns is registered instead, unless it is undefined or null.
  using TensorRegistration = std::function<TensorHandle(Module&, const std::string& name, const TensorHandle&)>;
  using ModuleRegistration = std::function<Ref<Module>(Module&, const std::string& name, const Ref<Module>&)>;
  HookHandle register_parameter_registration_hook(TensorRegistration hook) { return add(parameters_, std::move(hook)); }
  HookHandle register_buffer_registration_hook(TensorRegistration hook) { return add(buffers_, std::move(hook)); }
  HookHandle register_module_registration_hook(ModuleRegistration hook) { return add(modules_, std::move(hook)); }

  void remove(int64_t id) override;
  void on_registration(Module& m, Entry& entry) const;  // what Module calls

 private:
  List<TensorRegistration> parameters_, buffers_;
  List<ModuleRegistration> modules_;
};
HooksOfAllModules& hooks_of_all_modules();

}  // namespace pyburn::nn
