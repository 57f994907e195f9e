#include "pyburn/optim/optimizer.h"

#include <algorithm>

#include "pyburn/decorators/autodiff/autograd.h"
#include "pyburn/decorators/autodiff/history.h"
#include "pyburn/nn/clip_grad.h"

namespace pyburn::optim {

void check_group(const std::vector<TensorHandle>& parameters, const std::vector<TensorHandle>& taken) {
  require<ValueError>(!parameters.empty(), "optimizer got an empty parameter list");
  for (const TensorHandle& p : parameters) {
    require<ValueError>(p.defined() && autograd::is_leaf(p), "can't optimize a non-leaf Tensor");
    const bool twice = std::any_of(taken.begin(), taken.end(), [&](const TensorHandle& t) { return t.is_same(p); });
    require<ValueError>(!twice, "some parameters appear in more than one parameter group");
  }
}

void zero_gradients(const std::vector<TensorHandle>& parameters, bool set_to_none) { nn::zero_gradients(parameters, set_to_none); }

}  // namespace pyburn::optim
