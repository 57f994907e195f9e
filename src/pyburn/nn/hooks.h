// Hooks: functions that a program adds to a module. They run around its calls (those that go through call() or operator()), in the
// backward pass through it, and when its state is saved or loaded.
//
//   nn::HookHandle handle = layer->hooks().register_forward_hook(
//       [](nn::Module&, const TensorHandle& input, const TensorHandle& output) { ... });
//   handle.remove();
//
// Hooks around calls and in the backward pass return nothing, or a tensor that takes the place of the last one they were given.
#pragma once
#include <type_traits>

#include "pyburn/nn/module_state.h"

namespace pyburn::nn {

// Takes a hook away again. It may be copied, used more than once, and outlive the module.
class HookHandle {
 public:
  HookHandle() = default;
  void remove();

 private:
  friend class Hooks;
  HookHandle(std::weak_ptr<Hooks> hooks, int64_t id) : hooks_(std::move(hooks)), id_(id) {}
  std::weak_ptr<Hooks> hooks_;
  int64_t id_ = 0;
};

// Takes its hook away when it goes out of scope.
class ScopedHook {
 public:
  ScopedHook(HookHandle handle) : handle_(std::move(handle)) {}
  ScopedHook(const ScopedHook&) = delete;
  ~ScopedHook() { handle_.remove(); }

 private:
  HookHandle handle_;
};

struct HookOptions {
  bool prepend = false;      // before the hooks there are
  bool always_call = false;  // forward hooks: even where the call throws; then without an output
};

class Hooks : public std::enable_shared_from_this<Hooks> {
 public:
  // `bit` of the module's `detours` says whether its calls have hooks: others take the straight way.
  Hooks(uint8_t& detours, uint8_t bit) : detours_(detours), bit_(bit) {}

  // hook(module, input), before forward.
  template <class F>
  HookHandle register_forward_pre_hook(F hook, HookOptions options = {}) {
    return add(
        forward_pre_, [hook](Module& m, const TensorHandle& x, const TensorHandle&) { return answer(hook, m, x); }, options);
  }
  // hook(module, input, output), after forward.
  template <class F>
  HookHandle register_forward_hook(F hook, HookOptions options = {}) {
    return add(
        forward_, [hook](Module& m, const TensorHandle& x, const TensorHandle& y) { return answer(hook, m, x, y); }, options);
  }
  // hook(module, grad_output), before the gradients of the module are computed.
  template <class F>
  HookHandle register_full_backward_pre_hook(F hook, HookOptions options = {}) {
    return add(
        backward_pre_, [hook](Module& m, const TensorHandle& dy, const TensorHandle&) { return answer(hook, m, dy); }, options);
  }
  // hook(module, grad_input, grad_output), when the gradient of the input is known. Where none is asked for, grad_input is undefined.
  template <class F>
  HookHandle register_full_backward_hook(F hook, HookOptions options = {}) {
    return add(
        backward_, [hook](Module& m, const TensorHandle& dx, const TensorHandle& dy) { return answer(hook, m, dx, dy); }, options);
  }

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

  // What Module calls.
  TensorHandle call(Module& m, TensorHandle x, const std::function<TensorHandle(const TensorHandle&)>& forward);
  void before_save(Module& m, const std::string& prefix, bool keep_vars);
  void after_save(Module& m, NamedTensors& state, const std::string& prefix);
  void before_load(Module& m, StateLoad& load, NamedTensors& state, const std::string& prefix);
  void after_load(Module& m, StateLoad& load);
  TensorHandle tensor(const Module& m, std::string_view name) const;  // undefined where there is no rule
  void remove(int64_t id);

 private:
  using TensorHook = std::function<TensorHandle(Module&, const TensorHandle&, const TensorHandle&)>;
  struct NamedRule {
    std::string name;
    TensorRule rule;
  };
  template <class F>
  struct Numbered {
    int64_t id;
    bool always_call;
    F function;
  };
  template <class F>
  using List = std::vector<Numbered<F>>;
  friend class WayBack;

  // A function that returns nothing leaves things as they are.
  template <class F, class... A>
  static TensorHandle answer(const F& hook, A&... arguments) {
    if constexpr (std::is_void_v<std::invoke_result_t<const F&, A&...>>) return hook(arguments...), TensorHandle();
    else return hook(arguments...);
  }
  template <class F>
  HookHandle add(List<F>& list, std::type_identity_t<F> function, HookOptions options = {}) {
    const int64_t id = next_id();
    list.insert(options.prepend ? list.begin() : list.end(), Numbered<F>{id, options.always_call, std::move(function)});
    mark_detour();
    return {weak_from_this(), id};
  }
  static int64_t next_id();
  void mark_detour();

  uint8_t& detours_;
  uint8_t bit_;
  List<TensorHook> forward_pre_, forward_, backward_pre_, backward_;
  List<SavePreHook> save_pre_;
  List<SaveHook> save_;
  List<LoadPreHook> load_pre_;
  List<LoadHook> load_;
  List<NamedRule> tensors_;
};

}  // namespace pyburn::nn
