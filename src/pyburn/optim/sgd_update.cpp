#include "pyburn/optim/sgd_update.h"

#include "pyburn/decorators/autodiff/autograd.h"
#include "pyburn/ops/generated/fill.h"
#include "pyburn/ops/optimise.h"
#include "pyburn/optim/buckets.h"

namespace pyburn::optim {

void SgdOptions::check() const {
  require<ValueError>(lr >= 0, "Invalid learning rate: {}", lr);
  require<ValueError>(momentum >= 0, "Invalid momentum value: {}", momentum);
  require<ValueError>(weight_decay >= 0, "Invalid weight_decay value: {}", weight_decay);
  require<ValueError>(!nesterov || (momentum > 0 && dampening == 0), "Nesterov momentum requires a momentum and zero dampening");
}

void update(const SgdOptions& o, const std::vector<TensorHandle>& parameters, const std::vector<SgdState*>& states) {
  autograd::NoGrad no_grad;
  std::vector<TensorHandle> gradients;
  for (const TensorHandle& p : parameters) gradients.push_back(autograd::grad_of(p));
  auto is_first = [&](size_t i) { return int64_t(o.momentum != 0 && !states[i]->momentum_buffer.defined()); };
  for (const Bucket& bucket : buckets(parameters, gradients, is_first)) {
    Tensors p, g, buffers;
    for (size_t i : bucket.members) {
      p.push_back(parameters[i]);
      g.push_back(gradients[i]);
      if (o.momentum == 0) continue;
      if (bucket.moment) states[i]->momentum_buffer = fn::zeros_like(parameters[i]);
      buffers.push_back(states[i]->momentum_buffer);
    }
    const SgdStep step{o.lr, o.momentum, o.dampening, o.weight_decay, o.nesterov, o.maximize, bucket.moment != 0, p.size()};
    sgd_step(step, p, g, buffers);
  }
}

}  // namespace pyburn::optim
