// Call hooks: functions attached to a module, or to all modules. They run before and after its calls (those through call(), operator() or
// nn::call), and in the backward pass.
//
//   nn::HookHandle handle = layer->hooks().register_forward_hook(
//       [](nn::Module&, const TensorHandle& input, const TensorHandle& output) { ... });
//   handle.remove();
//
// A hook receives single tensors, the first of each side, or lists of all (const Tensors&). It returns nothing, or a replacement of the
// inputs, outputs, output gradients or input gradients, in the order of the functions below.
#pragma once
#include <functional>
#include <memory>
#include <type_traits>
#include <vector>

#include "pyburn/ir/op_info.h"
#include "pyburn/support/error.h"

namespace pyburn::nn {

class Module;
class CallHooks;

// Removes a hook. It may be copied, used more than once, and outlive the module.
class HookHandle {
 public:
  HookHandle() = default;
  void remove();

 private:
  friend class CallHooks;
  HookHandle(std::weak_ptr<CallHooks> hooks, int64_t id) : hooks_(std::move(hooks)), id_(id) {}
  std::weak_ptr<CallHooks> hooks_;
  int64_t id_ = 0;
};

// Removes its hook at the end of its scope.
class ScopedHook {
 public:
  ScopedHook(HookHandle handle) : handle_(std::move(handle)) {}
  ScopedHook(const ScopedHook&) = delete;
  ~ScopedHook() { handle_.remove(); }

 private:
  HookHandle handle_;
};

struct HookOptions {
  bool prepend = false;      // before the existing hooks
  bool always_call = false;  // forward hooks: also if the call throws; then without an output
};

class CallHooks : public std::enable_shared_from_this<CallHooks> {
 public:
  // `bit` of `detours` says whether calls have hooks; other calls take the fast path.
  CallHooks(uint8_t& detours, uint8_t bit) : detours_(detours), bit_(bit) {}
  CallHooks(const CallHooks& other, uint8_t& detours)
      : around_(other.around_), detours_(detours), bit_(other.bit_) {}  // the same hooks on another module
  virtual ~CallHooks() = default;

  // hook(module, input), before forward.
  template <class F>
  HookHandle register_forward_pre_hook(F hook, HookOptions options = {}) {
    return add(
        around_.forward_pre, [hook](Module& m, Tensors& in, Tensors&) { ask(hook, in, m, in); }, options);
  }
  // hook(module, input, output), after forward.
  template <class F>
  HookHandle register_forward_hook(F hook, HookOptions options = {}) {
    return add(
        around_.forward, [hook](Module& m, Tensors& in, Tensors& out) { ask(hook, out, m, in, out); }, options);
  }
  // hook(module, grad_output), before the gradients of the module are computed.
  template <class F>
  HookHandle register_full_backward_pre_hook(F hook, HookOptions options = {}) {
    return add(
        around_.backward_pre, [hook](Module& m, Tensors& dy, Tensors&) { ask(hook, dy, m, dy); }, options);
  }
  // hook(module, grad_input, grad_output), after the input gradients are computed. They are undefined if not required.
  template <class F>
  HookHandle register_full_backward_hook(F hook, HookOptions options = {}) {
    return add(
        around_.backward, [hook](Module& m, Tensors& dx, Tensors& dy) { ask(hook, dx, m, dx, dy); }, options);
  }
  virtual void remove(int64_t id);

  template <class F>
  struct Numbered {
    int64_t id;
    bool always_call;
    F function;
  };
  template <class F>
  using List = std::vector<Numbered<F>>;
  using TensorsHook = std::function<void(Module&, Tensors&, Tensors&)>;
  struct Around {
    List<TensorsHook> forward_pre, forward, backward_pre, backward;
    void append(const Around& more);
  };
  const Around& around() const { return around_; }

 protected:
  template <class F>
  HookHandle add(List<F>& list, std::type_identity_t<F> function, HookOptions options = {}) {
    const int64_t id = next_id();
    list.insert(options.prepend ? list.begin() : list.end(), Numbered<F>{id, options.always_call, std::move(function)});
    mark_detour();
    return {weak_from_this(), id};
  }
  template <class F>
  static void remove_from(List<F>& list, int64_t id) {
    std::erase_if(list, [&](const auto& hook) { return hook.id == id; });
  }

 private:
  static const TensorHandle& first(const Tensors& list) {
    static const TensorHandle none;
    return list.empty() ? none : list[0];
  }
  // Calls a hook, and stores its result in `place`.
  template <class F, class... L>
  static void ask(const F& hook, Tensors& place, Module& m, const L&... lists) {
    const auto run = [&] {
      if constexpr (std::is_invocable_v<const F&, Module&, decltype(first(lists))...>) return hook(m, first(lists)...);
      else return hook(m, lists...);
    };
    if constexpr (std::is_void_v<decltype(run())>) run();
    else put(place, run());
  }
  static void put(Tensors& place, const TensorHandle& t) {
    if (t.defined() && place.empty()) place.push_back(t);
    else if (t.defined()) place[0] = t;
  }
  static void put(Tensors& place, const Tensors& tensors) {
    require<ValueError>(tensors.empty() || tensors.size() == place.size(),
        "a hook must return as many tensors as it received: got {}, expected {}", tensors.size(), place.size());
    if (!tensors.empty()) place = tensors;
  }
  static int64_t next_id();
  void mark_detour();

  Around around_;
  uint8_t& detours_;
  uint8_t bit_;
};

// Runs forward between hooks.
Tensors run_between(const CallHooks::Around& hooks, Module& m, Tensors inputs, const std::function<Tensors(const Tensors&)>& forward);

}  // namespace pyburn::nn
