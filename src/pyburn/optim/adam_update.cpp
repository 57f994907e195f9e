#include "pyburn/optim/adam_update.h"

#include "pyburn/decorators/autodiff/autograd.h"
#include "pyburn/ops/generated/fill.h"
#include "pyburn/ops/optimise.h"
#include "pyburn/optim/buckets.h"

namespace pyburn::optim {

void AdamOptions::check() const {
  require<ValueError>(lr >= 0, "Invalid learning rate: {}", lr);
  require<ValueError>(eps >= 0, "Invalid epsilon value: {}", eps);
  require<ValueError>(beta1 >= 0 && beta1 < 1, "Invalid beta parameter at index 0: {}", beta1);
  require<ValueError>(beta2 >= 0 && beta2 < 1, "Invalid beta parameter at index 1: {}", beta2);
  require<ValueError>(weight_decay >= 0, "Invalid weight_decay value: {}", weight_decay);
}

namespace {
void start(AdamState& s, const TensorHandle& parameter, bool amsgrad) {
  for (TensorHandle* t : {&s.exp_avg, &s.exp_avg_sq})
    if (!t->defined()) *t = fn::zeros_like(parameter);
  if (amsgrad && !s.max_exp_avg_sq.defined()) s.max_exp_avg_sq = fn::zeros_like(parameter);
}
}  // namespace

void update(const AdamOptions& o, const std::vector<TensorHandle>& parameters, const std::vector<AdamState*>& states) {
  autograd::NoGrad no_grad;
  std::vector<TensorHandle> gradients;
  for (const TensorHandle& p : parameters) gradients.push_back(autograd::grad_of(p));
  for (const Bucket& bucket : buckets(parameters, gradients, [&](size_t i) { return states[i]->step; })) {
    Tensors p, g, first, second, largest;
    for (size_t i : bucket.members) {
      AdamState& s = *states[i];
      start(s, parameters[i], o.amsgrad);
      s.step = bucket.moment + 1;
      p.push_back(parameters[i]);
      g.push_back(gradients[i]);
      first.push_back(s.exp_avg);
      second.push_back(s.exp_avg_sq);
      if (o.amsgrad) largest.push_back(s.max_exp_avg_sq);
    }
    const AdamStep step{
        o.lr, o.beta1, o.beta2, o.eps, o.weight_decay, o.amsgrad, o.maximize, o.decoupled_weight_decay, bucket.moment + 1, p.size()};
    adam_step(step, p, g, first, second, largest);
  }
}

}  // namespace pyburn::optim
