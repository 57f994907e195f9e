#include "pyburn/nn/prune.h"

#include <cmath>
#include <limits>

#include "pyburn/decorators/autodiff/autograd.h"
#include "pyburn/nn/hooks.h"
#include "pyburn/nn/parts.h"
#include "pyburn/ops/generated/binary.h"
#include "pyburn/ops/generated/copy.h"
#include "pyburn/ops/generated/fill.h"
#include "pyburn/ops/generated/index.h"
#include "pyburn/ops/generated/join.h"
#include "pyburn/ops/generated/movement.h"
#include "pyburn/ops/generated/random.h"
#include "pyburn/ops/generated/reduce.h"
#include "pyburn/ops/generated/sort.h"
#include "pyburn/ops/generated/unary.h"
#include "pyburn/ops/generated/vector_norm.h"
#include "pyburn/ops/operators.h"
#include "pyburn/runtime/transfer.h"

namespace pyburn::nn::prune {
namespace {

TensorHandle pruned(const Module& module, const std::string& name) {
  const TensorHandle original = needed(module, name + "_orig");
  return fn::cast(needed(module, name + "_mask"), original.dtype()) * original;
}

TensorHandle mask_of(const Module& module, const std::string& name) {
  if (is_pruned(module, name)) return needed(module, name + "_mask");
  return fn::ones_like(fn::detach(needed(module, name)));
}

// What is compared: the scores that were given, or the values.
TensorHandle scores_of(const Module& module, const std::string& name, const TensorHandle& given) {
  const TensorHandle value = needed(module, name);
  require<ValueError>(!given.defined() || given.shape() == value.shape(),
      "importance_scores should have the same shape as parameter {}: got {} for {}", name, given.defined() ? given.shape() : Shape(),
      value.shape());
  return fn::detach(given.defined() ? given : value);
}

void set_mask(Module& module, const std::string& name, const TensorHandle& mask) {
  if (is_pruned(module, name)) return module.put({name + "_mask", Entry::Kind::buffer, true, mask, {}});
  const Entry* e = module.find(name);
  require<ValueError>(
      e && e->kind == Entry::Kind::parameter && e->tensor.defined(), "{} has no parameter '{}' to prune", module.display_name(), name);
  const TensorHandle parameter = e->tensor;
  module.erase(name);
  module.register_parameter(name + "_orig", parameter);
  module.register_buffer(name + "_mask", mask);
  module.hooks().register_tensor(name, [name](const Module& m) { return pruned(m, name); });
}

// The numbers of the lowest of the scores that are kept.
TensorHandle lowest(const TensorHandle& scores, const TensorHandle& kept, const Amount& amount) {
  const int64_t left = int64_t(read_number(fn::sum(fn::cast(kept, DType::int64))));
  const TensorHandle compared = fn::where(kept, scores, std::numeric_limits<double>::infinity());
  return fn::slice(fn::argsort(compared, 0), 0, 0, amount.of(left));
}

TensorHandle without_elements(const TensorHandle& mask, const TensorHandle& scores, const Amount& amount) {
  const TensorHandle flat = fn::reshape(mask, {-1});
  return fn::reshape(fn::index_fill(flat, 0, lowest(fn::reshape(scores, {-1}), fn::ne(flat, 0), amount), 0.0), mask.shape());
}

Dims other_axes(const TensorHandle& x, int64_t dim) {
  require<ValueError>(x.rank() >= 2,
      "Structured pruning can only be applied to multidimensional tensors. Found tensor of shape {} with {} dims", x.shape(), x.rank());
  Dims others;
  for (int i = 0; i < x.rank(); ++i)
    if (i != normalise_dim(dim, x.rank())) others.push_back(i);
  return others;
}

TensorHandle without_slices(const TensorHandle& mask, const TensorHandle& scores, const Amount& amount, int64_t dim) {
  const TensorHandle kept = fn::ne(fn::sum(mask, other_axes(mask, dim)), 0);
  return fn::index_fill(mask, dim, lowest(scores, kept, amount), 0.0);
}

}  // namespace

Amount::Amount(double share) : share_(share) {
  require<ValueError>(share >= 0 && share <= 1, "amount={} should either be a float in the range [0, 1] or a non-negative integer", share);
}
Amount::Amount(int64_t count) : count_(count) {
  require<ValueError>(count >= 0, "amount={} should either be a float in the range [0, 1] or a non-negative integer", count);
}
int64_t Amount::of(int64_t size) const {
  if (share_ >= 0) return int64_t(std::nearbyint(share_ * double(size)));
  require<ValueError>(count_ <= size, "amount={} should be smaller than the number of parameters to prune={}", count_, size);
  return count_;
}

void identity(Module& module, const std::string& name) { set_mask(module, name, mask_of(module, name)); }

void random_unstructured(Module& module, const std::string& name, Amount amount) {
  const autograd::NoGrad no_grad;
  const TensorHandle mask = mask_of(module, name);
  set_mask(module, name, without_elements(mask, fn::rand(mask.shape(), DType::float32, &mask.device()), amount));
}

void l1_unstructured(Module& module, const std::string& name, Amount amount, const TensorHandle& importance_scores) {
  const autograd::NoGrad no_grad;
  set_mask(module, name, without_elements(mask_of(module, name), fn::abs(scores_of(module, name, importance_scores)), amount));
}

void random_structured(Module& module, const std::string& name, Amount amount, int64_t dim) {
  const autograd::NoGrad no_grad;
  const TensorHandle mask = mask_of(module, name);
  const int64_t slices = mask.shape()[normalise_dim(dim, mask.rank())];
  set_mask(module, name, without_slices(mask, fn::rand({slices}, DType::float32, &mask.device()), amount, dim));
}

void ln_structured(Module& module, const std::string& name, Amount amount, double n, int64_t dim, const TensorHandle& importance_scores) {
  const autograd::NoGrad no_grad;
  const TensorHandle scores = scores_of(module, name, importance_scores);
  set_mask(module, name, without_slices(mask_of(module, name), fn::linalg_vector_norm(scores, n, other_axes(scores, dim)), amount, dim));
}

void custom_from_mask(Module& module, const std::string& name, const TensorHandle& mask) {
  const autograd::NoGrad no_grad;
  const TensorHandle before = mask_of(module, name);
  require<ValueError>(before.shape() == mask.shape(), "expected a mask of shape {}: got {}", before.shape(), mask.shape());
  set_mask(module, name, before * fn::cast(mask, before.dtype()));
}

void global_l1_unstructured(const std::vector<std::pair<Ref<Module>, std::string>>& parameters, Amount amount) {
  const autograd::NoGrad no_grad;
  require<ValueError>(!parameters.empty(), "expected parameters to prune");
  Tensors masks, scores;
  for (const auto& [m, name] : parameters) require<ValueError>(bool(m), "expected a module with a parameter '{}'", name);
  for (const auto& [m, name] : parameters) {
    masks.push_back(fn::reshape(mask_of(*m, name), {-1}));
    scores.push_back(fn::abs(fn::reshape(scores_of(*m, name, {}), {-1})));
  }
  const TensorHandle kept = without_elements(fn::cat(masks), fn::cat(scores), amount);
  int64_t start = 0;
  for (const auto& [m, name] : parameters) {
    const Shape shape = needed(*m, name).shape();
    custom_from_mask(*m, name, fn::reshape(fn::narrow(kept, 0, start, shape.numel()), shape));
    start += shape.numel();
  }
}

bool is_pruned(const Module& module, std::string_view name) {
  const std::string mask = std::string(name) + "_mask";
  for (const Entry& e : module.entries())
    if (e.kind == Entry::Kind::buffer && e.name == mask) return true;
  return false;
}
bool is_pruned(Module& module) {
  for (const auto& [path, m] : module.named_modules())
    for (const Entry& e : m->entries())
      if (e.name.ends_with("_orig") && is_pruned(*m, e.name.substr(0, e.name.size() - 5))) return true;
  return false;
}

void remove(Module& module, const std::string& name) {
  require<ValueError>(
      is_pruned(module, name), "Parameter '{}' of module {} has to be pruned before pruning can be removed", name, module.display_name());
  const autograd::NoGrad no_grad;
  const TensorHandle parameter = needed(module, name + "_orig");
  autograd::set_data(parameter, fn::detach(pruned(module, name)));
  module.erase(name + "_orig");
  module.erase(name + "_mask");
  module.register_parameter(name, parameter);
}

}  // namespace pyburn::nn::prune
