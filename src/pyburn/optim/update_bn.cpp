#include "pyburn/optim/update_bn.h"

#include "pyburn/nn/batch_norm.h"

namespace pyburn::optim {
namespace {

// Calls change(norm) for a module that is a batch norm; says whether it is one.
template <class Change>
bool as_batch_norm(nn::Module& m, Change change) {
  if (auto* norm = dynamic_cast<nn::ChannelNorm<nn::BatchNormConfig>*>(&m)) return change(*norm), true;
  if (auto* norm = dynamic_cast<nn::ChannelNorm<nn::SyncBatchNormConfig>*>(&m)) return change(*norm), true;
  return false;
}

}  // namespace

FreshStatistics::FreshStatistics(nn::Module& model) : model_(model), was_training_(model.training()) {
  for (const auto& [name, m] : model.named_modules()) {
    std::optional<Scalar> momentum;
    const bool is_norm = as_batch_norm(*m, [&](auto& norm) {
      momentum = norm.options().momentum;
      norm.reset_running_stats();
      norm.set_momentum({});
    });
    if (is_norm) norms_.push_back({m, momentum});
  }
  if (!norms_.empty()) model.train();
}

FreshStatistics::~FreshStatistics() {
  if (norms_.empty()) return;
  for (const Norm& n : norms_) as_batch_norm(*n.module, [&](auto& norm) { norm.set_momentum(n.momentum); });
  model_.train(was_training_);
}

}  // namespace pyburn::optim
