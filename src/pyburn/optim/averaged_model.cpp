#include "pyburn/optim/averaged_model.h"

#include "pyburn/decorators/autodiff/autograd.h"
#include "pyburn/nn/parts.h"
#include "pyburn/ops/copy.h"
#include "pyburn/ops/generated/binary.h"
#include "pyburn/ops/generated/copy.h"
#include "pyburn/ops/generated/fill.h"
#include "pyburn/ops/generated/pointwise.h"
#include "pyburn/ops/operators.h"
#include "pyburn/runtime/transfer.h"

namespace pyburn::optim {

AveragedModel::AveragedModel(nn::Module& model, std::optional<double> decay, bool use_buffers) : decay_(decay), use_buffers_(use_buffers) {
  require<ValueError>(
      !decay || (*decay >= 0 && *decay <= 1), "Invalid decay value {}. Please provide a value in [0,1] range.", decay.value_or(0));
  register_module("module", nn::deepcopy(model));
  register_buffer("n_averaged", fn::zeros({}, DType::int64));
}

AveragedModel::AveragedModel(nn::Module& model, Average average, bool use_buffers) : AveragedModel(model, std::nullopt, use_buffers) {
  average_ = std::move(average);
}

nn::Module& AveragedModel::module() { return nn::child(*this, "module"); }

int64_t AveragedModel::n_averaged() const { return int64_t(read_number(tensor("n_averaged"))); }

void AveragedModel::update(const nn::NamedTensors& means, const nn::NamedTensors& values, bool average) {
  require<ValueError>(means.size() == values.size(), "expected a model of {} tensors: got {}", means.size(), values.size());
  const int64_t count = n_averaged();
  const double weight = decay_ ? 1 - *decay_ : 1 / double(count + 1);
  for (size_t i = 0; i < means.size(); ++i) {
    const auto& [name, mean] = means[i];
    require<ValueError>(name == values[i].first, "expected the tensor '{}': got '{}'", name, values[i].first);
    const TensorHandle value = moved_to(mean.device(), values[i].second);
    if (!average || count == 0) copy_into(mean, value);
    else if (average_) copy_into(mean, average_(mean, value, count));
    else if (is_floating(mean.dtype())) fn::lerp_into(mean, mean, value, weight);
    else copy_into(mean, mean + (value - mean) * weight);  // counts
  }
}

void AveragedModel::update_parameters(nn::Module& model) {
  const autograd::NoGrad no_grad;
  update(module().named_parameters(), model.named_parameters(), true);
  update(module().named_buffers(), model.named_buffers(), use_buffers_);
  fn::add_into(tensor("n_averaged"), tensor("n_averaged"), 1);
}

}  // namespace pyburn::optim
