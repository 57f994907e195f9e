#include "pyburn/nn/call_hooks.h"

#include <atomic>

#include "pyburn/decorators/autodiff/autograd.h"
#include "pyburn/decorators/autodiff/engine.h"
#include "pyburn/decorators/autodiff/function.h"
#include "pyburn/decorators/autodiff/history.h"
#include "pyburn/nn/module.h"
#include "pyburn/ops/generated/fill.h"
#include "pyburn/ops/generated/movement.h"
#include "pyburn/support/log.h"

namespace pyburn::nn {
namespace {

// The gradients of one call in the backward pass: first those of the outputs, then, if required, those of the inputs.
class WayBack : public std::enable_shared_from_this<WayBack> {
 public:
  WayBack(Module& m, const CallHooks::Around& hooks) : module_(&m), before_(hooks.backward_pre), hooks_(hooks.backward) {}

  Tensors watched_inputs(const Tensors& inputs) {
    inputs_ = inputs.size();
    for (int64_t i = 0; i < inputs_; ++i)
      if (inputs[i].defined() && is_floating(inputs[i].dtype()) && !autograd::wants_gradient(inputs[i]))
        constants_.emplace_back(i, inputs[i]);
    Places places = wanted(inputs);
    watches_inputs_ = !places.empty();
    return watched(inputs, places, [way = shared_from_this(), places](const Grads& dx) { return way->on_input_gradients(dx, places); });
  }
  Tensors watched_outputs(const Tensors& outputs) {
    outputs_ = outputs.size();
    Places places = wanted(outputs);
    return watched(outputs, places, [way = shared_from_this(), places](const Grads& dy) { return way->on_output_gradients(dy, places); });
  }

 private:
  using Places = std::vector<int64_t>;  // indices of tensors that require a gradient

  static Places wanted(const Tensors& tensors) {
    Places places;
    if (!autograd::modes().grad) return places;
    for (int64_t i = 0; i < tensors.size(); ++i)
      if (tensors[i].defined() && autograd::wants_gradient(tensors[i])) places.push_back(i);
    return places;
  }

  // Tensors of their own, so that other uses do not come by here, and one step of the graph for all, so that their gradients do together.
  static Tensors watched(Tensors tensors, const Places& places, const autograd::BackwardFunction& on_gradients) {
    if (places.empty()) return tensors;
    Tensors before, after;
    for (const int64_t i : places) {
      before.push_back(tensors[i]);
      after.push_back(fn::view(tensors[i], tensors[i].shape()));
      tensors[i] = after.back();
    }
    std::vector<Meta> metas;
    for (const TensorHandle& t : before) metas.push_back(t.meta());
    Device* device = &before[0].device();
    autograd::attach_function("BackwardHookFunction", before, after, [=](Grads gradients) {
      for (int64_t i = 0; i < gradients.size(); ++i)
        if (!gradients[i].defined()) gradients[i] = fn::zeros(metas[size_t(i)].shape, metas[size_t(i)].dtype, device);
      return on_gradients(gradients);
    });
    return tensors;
  }

  static Tensors spread(const Grads& gradients, const Places& places, int64_t size) {
    Tensors all(size, TensorHandle());
    for (size_t i = 0; i < places.size(); ++i) all[places[i]] = gradients[int64_t(i)];
    return all;
  }
  static Grads gathered(const Tensors& all, const Places& places) {
    Grads gradients;
    for (const int64_t i : places) gradients.push_back(all[i]);
    return gradients;
  }

  // A hook may replace gradients, but not change what they look like.
  void call(const CallHooks::TensorsHook& hook, Tensors& gradients, Tensors& others) {
    const Tensors before = gradients;
    hook(*module_, gradients, others);
    for (int64_t i = 0; i < before.size() && i < gradients.size(); ++i)
      if (before[i].defined() && gradients[i].defined()) autograd::check_hook_result("hook", before[i], gradients[i]);
  }

  Grads on_output_gradients(const Grads& gradients, const Places& places) {
    Tensors none, dy = spread(gradients, places, outputs_);
    for (const auto& hook : before_) call(hook.function, dy, none);
    if (watches_inputs_) {
      grad_outputs_ = dy;
      // The pass may end before it reaches the inputs. Gradients that were recorded lead back to this call: they would keep each other.
      autograd::at_end_of_this_pass([way = weak_from_this()] {
        if (const auto alive = way.lock()) alive->grad_outputs_.reset();
      });
    } else {
      if (!hooks_.empty())
        warn("Full backward hook is firing when gradients are computed with respect to module outputs since no inputs require gradients.");
      for (const auto& hook : hooks_) {
        Tensors dx(inputs_, TensorHandle());
        hook.function(*module_, dx, dy);
        for (const TensorHandle& t : dx)
          require<GradientError>(!t.defined(),
              "Backward hook for Modules where no input requires gradient should always return None or None for all gradients.");
      }
    }
    return gathered(dy, places);
  }
  Grads on_input_gradients(const Grads& gradients, const Places& places) {
    if (!grad_outputs_) return gradients;  // they came around the outputs
    Tensors dy = *std::exchange(grad_outputs_, std::nullopt), dx = spread(gradients, places, inputs_);
    for (const auto& [i, constant] : constants_) dx[i] = fn::zeros_like(constant);
    for (const auto& hook : hooks_) call(hook.function, dx, dy);
    return gathered(dx, places);
  }

  Ref<Module> module_;
  CallHooks::List<CallHooks::TensorsHook> before_, hooks_;
  std::optional<Tensors> grad_outputs_;
  std::vector<std::pair<int64_t, TensorHandle>> constants_;  // inputs that do not require a gradient: hooks receive zeros
  int64_t inputs_ = 0, outputs_ = 0;
  bool watches_inputs_ = false;
};

}  // namespace

void HookHandle::remove() {
  if (const std::shared_ptr<CallHooks> hooks = hooks_.lock()) hooks->remove(id_);
}

int64_t CallHooks::next_id() {
  static std::atomic<int64_t> last{0};
  return ++last;
}

void CallHooks::remove(int64_t id) {
  for (auto* list : {&around_.forward_pre, &around_.forward, &around_.backward_pre, &around_.backward}) remove_from(*list, id);
  mark_detour();
}

void CallHooks::mark_detour() {
  const Around& a = around_;
  const bool calls = !a.forward_pre.empty() || !a.forward.empty() || !a.backward_pre.empty() || !a.backward.empty();
  detours_ = uint8_t(calls ? detours_ | bit_ : detours_ & ~bit_);
}

void CallHooks::Around::append(const Around& more) {
  const auto join = [](auto& list, const auto& rest) { list.insert(list.end(), rest.begin(), rest.end()); };
  join(forward_pre, more.forward_pre), join(forward, more.forward);
  join(backward_pre, more.backward_pre), join(backward, more.backward);
}

Tensors run_between(const CallHooks::Around& hooks, Module& m, Tensors inputs, const std::function<Tensors(const Tensors&)>& forward) {
  Tensors none, outputs;
  size_t met = 0;
  try {
    for (const auto& hook : hooks.forward_pre) hook.function(m, inputs, none);
    const bool watches = !hooks.backward_pre.empty() || !hooks.backward.empty();
    const auto back = watches ? std::make_shared<WayBack>(m, hooks) : nullptr;
    if (watches) inputs = back->watched_inputs(inputs);
    outputs = forward(inputs);
    while (met < hooks.forward.size()) hooks.forward[met++].function(m, inputs, outputs);
    return watches ? back->watched_outputs(outputs) : outputs;
  } catch (...) {
    for (; met < hooks.forward.size(); ++met) {
      if (!hooks.forward[met].always_call) continue;
      try {
        hooks.forward[met].function(m, inputs, outputs);
      } catch (const std::exception& e) {
        warn(format("a forward hook with always_call=True raised an error during another one: {}", std::string(e.what())));
      }
    }
    throw;
  }
}

}  // namespace pyburn::nn
