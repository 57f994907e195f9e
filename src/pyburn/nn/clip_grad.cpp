#include "pyburn/nn/clip_grad.h"

#include <cmath>

#include "pyburn/decorators/autodiff/autograd.h"
#include "pyburn/ops/copy.h"
#include "pyburn/ops/generated/copy.h"
#include "pyburn/ops/generated/fill.h"
#include "pyburn/ops/generated/join.h"
#include "pyburn/ops/generated/movement.h"
#include "pyburn/ops/generated/pointwise.h"
#include "pyburn/ops/generated/vector_norm.h"
#include "pyburn/ops/operators.h"
#include "pyburn/runtime/transfer.h"

namespace pyburn::nn {
namespace {

std::vector<TensorHandle> gradients_of(const std::vector<TensorHandle>& parameters) {
  std::vector<TensorHandle> list;
  for (const TensorHandle& p : parameters)
    if (const TensorHandle g = autograd::grad_of(p); g.defined()) list.push_back(g);
  return list;
}

}  // namespace

TensorHandle get_total_norm(const std::vector<TensorHandle>& tensors, double norm_type, bool error_if_nonfinite) {
  if (tensors.empty()) return fn::zeros({});
  Tensors norms;
  for (const TensorHandle& t : tensors) norms.push_back(moved_to(tensors[0].device(), fn::linalg_vector_norm(t, norm_type)));
  const TensorHandle total = fn::linalg_vector_norm(fn::stack(norms), norm_type);
  require<Error>(!error_if_nonfinite || std::isfinite(read_number(total)),
      "The total norm of order {} for gradients from `parameters` is non-finite, so it cannot be clipped. To disable this error and scale "
      "the "
      "gradients by the non-finite norm anyway, set `error_if_nonfinite=False`",
      norm_type);
  return total;
}

void clip_grads_with_norm_(const std::vector<TensorHandle>& parameters, double max_norm, const TensorHandle& total_norm) {
  autograd::NoGrad no_grad;
  // Always multiplied, by 1 where nothing is too large: no number has to be read from the device.
  const TensorHandle factor = fn::clamp(max_norm / (total_norm + 1e-6), {}, Scalar(1.0));
  for (const TensorHandle& g : gradients_of(parameters)) copy_into(g, g * moved_to(g.device(), factor));
}

TensorHandle clip_grad_norm_(const std::vector<TensorHandle>& parameters, double max_norm, double norm_type, bool error_if_nonfinite) {
  autograd::NoGrad no_grad;
  const TensorHandle total = get_total_norm(gradients_of(parameters), norm_type, error_if_nonfinite);
  clip_grads_with_norm_(parameters, max_norm, total);
  return total;
}

void clip_grad_value_(const std::vector<TensorHandle>& parameters, double clip_value) {
  autograd::NoGrad no_grad;
  for (const TensorHandle& g : gradients_of(parameters)) copy_into(g, fn::clamp(g, Scalar(-clip_value), Scalar(clip_value)));
}

void zero_gradients(const std::vector<TensorHandle>& parameters, bool set_to_none) {
  for (const TensorHandle& p : parameters) {
    const TensorHandle g = autograd::grad_of(p);
    if (!g.defined()) continue;
    if (set_to_none) {
      autograd::set_grad(p, {});
      continue;
    }
    const TensorHandle plain = g.requires_grad() ? fn::detach(g) : g;
    fn::zero_(plain);
    if (!plain.is_same(g)) autograd::set_grad(p, plain);
  }
}

TensorHandle parameters_to_vector(const std::vector<TensorHandle>& parameters) {
  Tensors flat;
  for (const TensorHandle& p : parameters) {
    require<DeviceError>(
        &p.device() == &parameters[0].device(), "Found two parameters on different devices, this is currently not supported.");
    flat.push_back(fn::reshape(p, {-1}));
  }
  return fn::cat(flat);
}

void vector_to_parameters(const TensorHandle& vector, const std::vector<TensorHandle>& parameters) {
  autograd::NoGrad no_grad;
  int64_t start = 0;
  for (const TensorHandle& p : parameters) {
    autograd::set_data(p, fn::reshape(fn::narrow(vector, 0, start, p.numel()), p.shape()));
    start += p.numel();
  }
}

}  // namespace pyburn::nn
