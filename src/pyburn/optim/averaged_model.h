// Averaged models: the mean of the weights (SWA), or an exponential moving average (EMA).
#pragma once
#include <optional>

#include "pyburn/nn/module.h"

namespace pyburn::optim {

// A copy of a model whose parameters are averages. Its state dict has PyTorch's names: n_averaged, module.0.weight, ...
class AveragedModel : public nn::Module {
 public:
  // `decay`: the decay of the exponential moving average; absent: the mean. With `use_buffers`, buffers are averaged like parameters;
  // otherwise they are copied at each update.
  explicit AveragedModel(nn::Module& model, std::optional<double> decay = {}, bool use_buffers = false);
  // A custom average: average(current average, new value, number of values averaged so far).
  using Average = std::function<TensorHandle(const TensorHandle& mean, const TensorHandle& value, int64_t n_averaged)>;
  AveragedModel(nn::Module& model, Average average, bool use_buffers = false);
  PB_MODULE(AveragedModel)

  nn::Module& module();
  TensorHandle forward(const TensorHandle& x) override { return module().call(x); }
  void update_parameters(nn::Module& model);  // the same model, or one with the same structure
  int64_t n_averaged() const;

 private:
  void update(const nn::NamedTensors& means, const nn::NamedTensors& values, bool average);

  std::optional<double> decay_;
  Average average_;
  bool use_buffers_;
};

}  // namespace pyburn::optim
