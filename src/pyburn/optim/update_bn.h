// Recomputes the running statistics of batch norms, for averaged weights whose activations have not been seen in training.
//
//   model->load_state_dict(average.state_dict());
//   optim::update_bn(batches, *model);  // any range of inputs
#pragma once
#include "pyburn/decorators/autodiff/modes.h"
#include "pyburn/nn/module.h"
#include "pyburn/runtime/transfer.h"

namespace pyburn::optim {

// While it lives, the batch norms of a model reset their statistics and average over the batches; the model is in training mode.
class FreshStatistics {
 public:
  explicit FreshStatistics(nn::Module& model);
  ~FreshStatistics();
  FreshStatistics(const FreshStatistics&) = delete;
  bool empty() const { return norms_.empty(); }  // the model has none

 private:
  struct Norm {
    Ref<nn::Module> module;
    std::optional<Scalar> momentum;
  };
  nn::Module& model_;
  std::vector<Norm> norms_;
  bool was_training_;
};

// Runs the model on `batches`, moved to `device` if given.
template <class Batches>
void update_bn(Batches&& batches, nn::Module& model, Device* device = nullptr) {
  const FreshStatistics statistics(model);
  if (statistics.empty()) return;
  const autograd::NoGrad no_grad;
  for (const TensorHandle& x : batches) model.call(device ? moved_to(*device, x) : x);
}

}  // namespace pyburn::optim
