#include "pyburn/nn/hooks.h"

#include <algorithm>
#include <atomic>

#include "pyburn/decorators/autodiff/autograd.h"
#include "pyburn/decorators/autodiff/history.h"
#include "pyburn/ops/generated/movement.h"
#include "pyburn/support/log.h"

namespace pyburn::nn {

// The gradients of one call on their way back: that of the output comes by first, then, where somebody wants it, that of the input.
class WayBack : public std::enable_shared_from_this<WayBack> {
 public:
  WayBack(Module& m, const Hooks& hooks) : module_(&m), before_(hooks.backward_pre_), hooks_(hooks.backward_) {}

  TensorHandle watched_input(const TensorHandle& x) {
    watches_input_ = autograd::modes().grad && autograd::wants_gradient(x);
    return watches_input_ ? watched(x, &WayBack::on_input_gradient) : x;
  }
  TensorHandle watched_output(const TensorHandle& y) {
    const bool wanted = autograd::modes().grad && autograd::wants_gradient(y);
    return wanted ? watched(y, &WayBack::on_output_gradient) : y;
  }

 private:
  using Seen = TensorHandle (WayBack::*)(TensorHandle);
  class Watch final : public autograd::Hook {
   public:
    Watch(std::shared_ptr<WayBack> way, Seen seen) : way_(std::move(way)), seen_(seen) {}
    TensorHandle call(const TensorHandle& gradient) override { return (way_.get()->*seen_)(gradient); }

   private:
    std::shared_ptr<WayBack> way_;
    Seen seen_;
  };

  // A tensor of its own, so that other uses of t do not come by here.
  TensorHandle watched(const TensorHandle& t, Seen seen) {
    const TensorHandle same = fn::view(t, t.shape());
    autograd::register_hook(same, make_ref<Watch>(shared_from_this(), seen));
    return same;
  }
  TensorHandle on_output_gradient(TensorHandle dy) {
    for (const auto& hook : before_)
      if (const TensorHandle changed = hook.function(*module_, dy, {}); changed.defined()) dy = changed;
    grad_output_ = dy;
    if (watches_input_) return dy;
    if (!hooks_.empty())
      warn("Full backward hook is firing when gradients are computed with respect to module outputs since no inputs require gradients.");
    for (const auto& hook : hooks_)
      require<GradientError>(!hook.function(*module_, {}, dy).defined(),
          "Backward hook for Modules where no input requires gradient should always return None or None for all gradients.");
    grad_output_ = {};
    return dy;
  }
  TensorHandle on_input_gradient(TensorHandle dx) {
    if (!grad_output_.defined()) return dx;  // it came around the output
    const TensorHandle dy = std::exchange(grad_output_, {});
    for (const auto& hook : hooks_)
      if (const TensorHandle changed = hook.function(*module_, dx, dy); changed.defined()) dx = changed;
    return dx;
  }

  Ref<Module> module_;
  Hooks::List<Hooks::TensorHook> before_, hooks_;
  TensorHandle grad_output_;
  bool watches_input_ = false;
};

void HookHandle::remove() {
  if (const std::shared_ptr<Hooks> hooks = hooks_.lock()) hooks->remove(id_);
}

int64_t Hooks::next_id() {
  static std::atomic<int64_t> last{0};
  return ++last;
}

void Hooks::remove(int64_t id) {
  const auto from = [&](auto&... lists) { (std::erase_if(lists, [&](const auto& hook) { return hook.id == id; }), ...); };
  from(forward_pre_, forward_, backward_pre_, backward_, save_pre_, save_, load_pre_, load_, tensors_);
  mark_detour();
}

void Hooks::mark_detour() {
  const bool calls = !forward_pre_.empty() || !forward_.empty() || !backward_pre_.empty() || !backward_.empty();
  detours_ = uint8_t(calls ? detours_ | bit_ : detours_ & ~bit_);
}

// Lists are copied before they are run: a hook may add others, or remove itself.
TensorHandle Hooks::call(Module& m, TensorHandle x, const std::function<TensorHandle(const TensorHandle&)>& forward) {
  const auto keeper = shared_from_this();
  const List<TensorHook> after = forward_;
  TensorHandle y;
  size_t met = 0;
  try {
    for (const List<TensorHook> before = forward_pre_; const auto& hook : before)
      if (const TensorHandle changed = hook.function(m, x, {}); changed.defined()) x = changed;
    const bool watches = !backward_pre_.empty() || !backward_.empty();
    const auto back = watches ? std::make_shared<WayBack>(m, *this) : nullptr;
    if (watches) x = back->watched_input(x);
    y = forward(x);
    while (met < after.size())
      if (const TensorHandle changed = after[met++].function(m, x, y); changed.defined()) y = changed;
    return watches ? back->watched_output(y) : y;
  } catch (...) {
    for (; met < after.size(); ++met) {
      if (!after[met].always_call) continue;
      try {
        after[met].function(m, x, y);
      } catch (const std::exception& e) {
        warn(format("a forward hook that is always called threw while another error was on its way: {}", std::string(e.what())));
      }
    }
    throw;
  }
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

}  // namespace pyburn::nn
