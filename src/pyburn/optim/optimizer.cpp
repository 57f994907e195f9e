#include "pyburn/optim/optimizer.h"

#include <algorithm>

#include "pyburn/decorators/autodiff/autograd.h"
#include "pyburn/decorators/autodiff/history.h"

namespace pyburn::optim {

void check_group(const std::vector<Tensor>& parameters, const std::vector<Tensor>& taken) {
  require<ValueError>(!parameters.empty(), "optimizer got an empty parameter list");
  for (const Tensor& p : parameters) {
    require<ValueError>(p.defined() && autograd::is_leaf(p), "can't optimize a non-leaf Tensor");
    const bool twice = std::any_of(taken.begin(), taken.end(), [&](const Tensor& t) { return t.is_same(p); });
    require<ValueError>(!twice, "some parameters appear in more than one parameter group");
  }
}

void zero_gradients(const std::vector<Tensor>& parameters, bool set_to_none) {
  for (const Tensor& p : parameters) {
    const Tensor g = autograd::grad_of(p);
    if (g.defined()) autograd::set_grad(p, set_to_none ? Tensor() : zeros_like(g));
  }
}

}  // namespace pyburn::optim
