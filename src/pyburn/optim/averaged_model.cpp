#include "pyburn/optim/averaged_model.h"

#include <set>

#include "pyburn/decorators/autodiff/autograd.h"
#include "pyburn/ops/copy.h"
#include "pyburn/ops/generated/copy.h"
#include "pyburn/ops/generated/pointwise.h"
#include "pyburn/runtime/transfer.h"
#include "pyburn/support/error.h"

namespace pyburn::optim {

AveragedModel::AveragedModel(nn::Module& model, std::optional<double> decay, bool use_buffers) : decay_(decay), use_buffers_(use_buffers) {
  require<ValueError>(
      !decay || (*decay >= 0 && *decay <= 1), "Invalid decay value {}. Please provide a value in [0,1] range.", decay.value_or(0));
  for (const auto& [name, t] : model.state_dict()) averages_.emplace_back(name, fn::clone(t));
}

AveragedModel::AveragedModel(nn::Module& model, Average average, bool use_buffers) : AveragedModel(model, std::nullopt, use_buffers) {
  average_ = std::move(average);
}

void AveragedModel::update_parameters(nn::Module& model) {
  const autograd::NoGrad no_grad;
  const nn::NamedTensors now = model.state_dict();
  require<ValueError>(now.size() == averages_.size(), "expected a model of {} tensors: got {}", averages_.size(), now.size());
  std::set<std::string> parameters;
  for (const auto& [name, t] : model.named_parameters("", true, false)) parameters.insert(name);
  const double weight = decay_ ? 1 - *decay_ : 1 / double(count_ + 1);
  for (size_t i = 0; i < now.size(); ++i) {
    const auto& [name, value] = now[i];
    TensorHandle& mean = averages_[i].second;
    require<ValueError>(name == averages_[i].first, "expected the tensor '{}': got '{}'", averages_[i].first, name);
    const TensorHandle here = moved_to(mean.device(), value);
    const bool averaged = count_ > 0 && (use_buffers_ || parameters.contains(name)) && is_floating(mean.dtype());
    if (averaged && average_) copy_into(mean, average_(mean, here, count_));
    else if (averaged) fn::lerp_into(mean, mean, here, weight);
    else copy_into(mean, here);
  }
  ++count_;
}

}  // namespace pyburn::optim
