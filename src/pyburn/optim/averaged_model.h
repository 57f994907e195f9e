// Averages of a model over its training: the plain mean (SWA), or an exponential moving average (EMA).
#pragma once
#include <optional>

#include "pyburn/nn/module.h"

namespace pyburn::optim {

class AveragedModel {
 public:
  // `decay`: what an exponential moving average keeps at each update; absent: the mean. With `use_buffers` buffers are averaged like
  // parameters, else they are those of the last update.
  explicit AveragedModel(nn::Module& model, std::optional<double> decay = {}, bool use_buffers = false);
  // An average of the program's own: average(mean so far, value now, how many it is of).
  using Average = std::function<TensorHandle(const TensorHandle& mean, const TensorHandle& value, int64_t n_averaged)>;
  AveragedModel(nn::Module& model, Average average, bool use_buffers = false);
  void update_parameters(nn::Module& model);  // the same model, or one of the same layout
  int64_t n_averaged() const { return count_; }
  // By the names of the model: load it into another one of the same layout to use it.
  const nn::NamedTensors& state_dict() const { return averages_; }

 private:
  std::optional<double> decay_;
  Average average_;
  bool use_buffers_;
  int64_t count_ = 0;
  nn::NamedTensors averages_;
};

}  // namespace pyburn::optim
