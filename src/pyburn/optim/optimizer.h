// The C++ optimisers: parameter groups with their own options, and the state of each parameter.
#pragma once
#include <functional>
#include <map>
#include <string>

#include "pyburn/ops/generated/copy.h"
#include "pyburn/optim/descent_updates.h"
#include "pyburn/optim/matrix_updates.h"
#include "pyburn/optim/moment_updates.h"
#include "pyburn/optim/scaled_updates.h"

namespace pyburn::optim {

// Rejects empty lists, tensors with a history and tensors that are already in `taken`; ValueError.
void check_group(const std::vector<TensorHandle>& parameters, const std::vector<TensorHandle>& taken);
void zero_gradients(const std::vector<TensorHandle>& parameters, bool set_to_none);

// The layout of PyTorch's optimiser state dicts: parameters by index, with state if a step was made.
template <class Options, class State>
struct OptimizerState {
  struct Group {
    Options options;
    std::vector<int64_t> params;
  };
  std::map<int64_t, State> state;
  std::vector<Group> param_groups;
};

template <class Options, class State>
class Optimizer {
 public:
  struct Group {
    std::vector<TensorHandle> params;
    Options options;
    GradientClipping clip = {};
  };
  using StateDict = OptimizerState<Options, State>;

  explicit Optimizer(std::vector<TensorHandle> params, Options options = {}, GradientClipping clip = {}) {
    add_param_group({std::move(params), options, clip});
  }
  explicit Optimizer(std::vector<Group> groups) {
    require<ValueError>(!groups.empty(), "optimizer got an empty parameter list");
    for (Group& g : groups) add_param_group(std::move(g));
  }

  void add_param_group(Group group) {
    group.options.check();
    check_group(group.params, parameters());
    param_groups.push_back(std::move(group));
  }

  void step() {
    for (const Hook& hook : before_step) hook(*this);
    for (Group& group : param_groups) {
      std::vector<TensorHandle> active;
      std::vector<State*> states;
      for (const TensorHandle& p : group.params) {
        if (!autograd::grad_of(p).defined()) continue;  // it gets no state either
        active.push_back(p);
        states.push_back(&state_[p.impl()]);
      }
      update(group.options, active, states, group.clip);
    }
    for (const Hook& hook : after_step) hook(*this);
  }
  // As above after calling `closure`, which computes the loss and gradients; returns the loss.
  template <class Closure>
  requires std::is_invocable_v<Closure&>
  auto step(Closure&& closure) {
    const autograd::GradMode with_grad(true);
    auto loss = closure();
    step();
    return loss;
  }

  void zero_grad(bool set_to_none = true) { zero_gradients(parameters(), set_to_none); }
  const State& state(const TensorHandle& parameter) { return state_[parameter.impl()]; }

  StateDict state_dict() {
    StateDict saved;
    int64_t position = 0;
    for (const Group& group : param_groups) {
      auto& to = saved.param_groups.emplace_back(typename StateDict::Group{group.options, {}});
      for (const TensorHandle& p : group.params) {
        if (const auto it = state_.find(p.impl()); it != state_.end()) saved.state[position] = it->second;
        to.params.push_back(position++);
      }
    }
    return saved;
  }

  // Copies the tensors, so that a saved state does not change.
  void load_state_dict(const StateDict& saved) {
    require<ValueError>(saved.param_groups.size() == param_groups.size(), "loaded state dict has a different number of parameter groups");
    for (size_t i = 0; i < param_groups.size(); ++i)
      require<ValueError>(saved.param_groups[i].params.size() == param_groups[i].params.size(),
          "loaded state dict contains a parameter group that doesn't match the size of optimizer's group");
    state_.clear();
    for (size_t i = 0; i < param_groups.size(); ++i) {
      param_groups[i].options = saved.param_groups[i].options;
      for (size_t k = 0; k < param_groups[i].params.size(); ++k) {
        const auto it = saved.state.find(saved.param_groups[i].params[k]);
        if (it == saved.state.end()) continue;
        State copy = it->second;
        std::apply([](auto&... field) { (own(field), ...); }, copy.fields());
        state_[param_groups[i].params[k].impl()] = std::move(copy);
      }
    }
  }

  std::vector<TensorHandle> parameters() const {
    std::vector<TensorHandle> all;
    for (const Group& g : param_groups) all.insert(all.end(), g.params.begin(), g.params.end());
    return all;
  }

  std::vector<Group> param_groups;  // options may be changed between steps
  using Hook = std::function<void(Optimizer&)>;
  std::vector<Hook> before_step, after_step;  // called by every step

 private:
  static void own(TensorHandle& t) {
    if (t.defined()) t = fn::clone(t);
  }
  static void own(auto&) {}  // indices

  std::map<const TensorImpl*, State> state_;  // of the parameters, which the groups keep alive
};

using SGD = Optimizer<SgdOptions, SgdState>;
using ASGD = Optimizer<AsgdOptions, AsgdState>;
using Adam = Optimizer<AdamOptions, AdamState>;
using AdamW = Optimizer<AdamWOptions, AdamState>;
using Adamax = Optimizer<AdamaxOptions, AdamaxState>;
using NAdam = Optimizer<NAdamOptions, NAdamState>;
using RAdam = Optimizer<RAdamOptions, RAdamState>;
using Lion = Optimizer<LionOptions, LionState>;
using Adan = Optimizer<AdanOptions, AdanState>;
using Adagrad = Optimizer<AdagradOptions, AdagradState>;
using Adadelta = Optimizer<AdadeltaOptions, AdadeltaState>;
using RMSprop = Optimizer<RmspropOptions, RmspropState>;
using Rprop = Optimizer<RpropOptions, RpropState>;
using Muon = Optimizer<MuonOptions, MuonState>;
using Adafactor = Optimizer<AdafactorOptions, AdafactorState>;  // LBFGS, which evaluates the loss itself: lbfgs.h

}  // namespace pyburn::optim
