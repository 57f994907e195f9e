#include "pyburn/nn/parametrizations.h"

#include "pyburn/decorators/autodiff/autograd.h"
#include "pyburn/nn/hooks.h"
#include "pyburn/nn/orthogonal_matrix.h"
#include "pyburn/nn/parts.h"
#include "pyburn/ops/copy.h"
#include "pyburn/ops/generated/axes.h"
#include "pyburn/ops/generated/copy.h"
#include "pyburn/ops/generated/matmul.h"
#include "pyburn/ops/generated/movement.h"
#include "pyburn/ops/generated/normalisation.h"
#include "pyburn/ops/generated/random.h"
#include "pyburn/ops/generated/unary.h"
#include "pyburn/ops/generated/vector_norm.h"
#include "pyburn/ops/operators.h"

namespace pyburn::nn {
namespace {

TensorHandle weight_to_change(const Module& module, const std::string& name) {
  for (const Entry& e : module.entries())
    if (e.name == name && e.kind != Entry::Kind::module && e.tensor.defined()) return e.tensor;
  if (const Ref<ParametrizationList> list = parametrizations_of(module, name)) return list->value();
  fail<ValueError>("Module '{}' has no parameter or buffer with name '{}'", module.display_name(), name);
}

}  // namespace

TensorHandle norm_except(const TensorHandle& v, int64_t dim) {
  if (dim == -1) return fn::linalg_vector_norm(v);
  const int axis = normalise_dim(dim, v.rank());
  if (v.rank() <= 1) return fn::abs(v);
  Dims others;
  for (int i = 0; i < v.rank(); ++i)
    if (i != axis) others.push_back(i);
  return fn::linalg_vector_norm(v, 2, others, true);
}

TensorHandle with_norm(const TensorHandle& v, const TensorHandle& norm, int64_t dim) {
  return v.numel() ? v * (norm / norm_except(v, dim)) : v * norm;  // without elements there is no norm to divide by
}

TensorHandle as_rows(const TensorHandle& weight, int64_t dim) { return fn::flatten(fn::movedim(weight, {dim}, {0}), 1); }

void power_iterations(const TensorHandle& matrix, const TensorHandle& u, const TensorHandle& v, int64_t count, double eps) {
  const autograd::NoGrad no_grad;
  const TensorHandle transposed = fn::transpose(matrix, 0, 1);
  for (int64_t i = 0; i < count; ++i) {
    copy_into(u, fn::normalize(fn::mv(matrix, v), 2, 0, eps));
    copy_into(v, fn::normalize(fn::mv(transposed, u), 2, 0, eps));
  }
}

TensorHandle WeightNorm::compute(const Tensors& originals) {
  require<ValueError>(originals.size() == 2, "weight_norm computes a weight from two tensors: got {}", originals.size());
  return with_norm(originals[1], originals[0], dim_);
}

std::optional<Tensors> WeightNorm::right_inverse(const TensorHandle& weight) { return Tensors{norm_except(weight, dim_), weight}; }

SpectralNorm::SpectralNorm(const TensorHandle& weight, int64_t n_power_iterations, int64_t dim, double eps)
    : n_power_iterations_(n_power_iterations), dim_(normalise_dim(dim, weight.rank())), eps_(eps) {
  require<ValueError>(
      n_power_iterations > 0, "Expected n_power_iterations to be positive, but got n_power_iterations={}", n_power_iterations);
  if (weight.rank() < 2) return;
  const TensorHandle matrix = as_rows(fn::detach(weight), dim_);
  for (int axis = 0; axis < 2; ++axis) {
    const TensorHandle start = fn::randn({matrix.shape()[axis]}, matrix.dtype(), &matrix.device());
    register_buffer(axis == 0 ? "_u" : "_v", fn::normalize(start, 2, 0, eps));
  }
  power_iterations(matrix, tensor("_u"), tensor("_v"), 15, eps);
}

TensorHandle SpectralNorm::forward(const TensorHandle& weight) {
  if (weight.rank() == 1) return fn::normalize(weight, 2, 0, eps_);
  const TensorHandle matrix = as_rows(weight, dim_), u = needed(*this, "_u"), v = needed(*this, "_v");
  if (training()) power_iterations(fn::detach(matrix), u, v, n_power_iterations_, eps_);
  // Copies: the next iterations write to the buffers, and the gradient needs them as they are.
  return weight / fn::dot(fn::clone(u), fn::mv(matrix, fn::clone(v)));
}

Orthogonal::Orthogonal(Shape shape, std::string map, bool use_trivialization)
    : shape_(std::move(shape)), map_(std::move(map)), use_trivialization_(use_trivialization) {
  if (use_trivialization_) register_buffer("base", {});
}

TensorHandle Orthogonal::forward(const TensorHandle& x) {
  return orthogonal_matrix(x, map_, use_trivialization_ ? needed(*this, "base") : TensorHandle());
}

std::optional<Tensors> Orthogonal::right_inverse(const TensorHandle& q) {
  require<ValueError>(
      q.shape() == shape_, "Expected a matrix or batch of matrices of shape {}. Got a tensor of shape {}.", shape_, q.shape());
  if (!use_trivialization_ && map_ != "householder") return std::nullopt;
  const OrthogonalStart start = orthogonal_start(q, map_, use_trivialization_);
  if (use_trivialization_) put({"base", Entry::Kind::buffer, true, start.base, {}});
  return Tensors{start.x};
}

namespace parametrizations {

void weight_norm(Module& module, const std::string& name, std::optional<int64_t> dim) {
  parametrize::register_parametrization(module, name, make_ref<WeightNorm>(dim.value_or(-1)), true);
  module.hooks().register_load_state_dict_pre_hook([name](Module&, StateLoad&, NamedTensors& state, const std::string& prefix) {
    const std::string folder = prefix + "parametrizations." + name + ".original";
    for (auto& [key, tensor] : state) {
      if (key == prefix + name + "_g") key = folder + "0";
      if (key == prefix + name + "_v") key = folder + "1";
    }
  });
}

void spectral_norm(Module& module, const std::string& name, int64_t n_power_iterations, double eps, std::optional<int64_t> dim) {
  const TensorHandle weight = weight_to_change(module, name);
  const int64_t outputs = dim.value_or(module.type_name().starts_with("ConvTranspose") ? 1 : 0);
  parametrize::register_parametrization(module, name, make_ref<SpectralNorm>(weight, n_power_iterations, outputs, eps));
}

void orthogonal(Module& module, const std::string& name, std::string map, bool use_trivialization) {
  const TensorHandle weight = weight_to_change(module, name);
  const Shape& shape = weight.shape();
  require<ValueError>(shape.rank() >= 2, "Expected a matrix or batch of matrices. Got a tensor of {} dimensions.", shape.rank());
  if (map.empty()) map = shape[shape.rank() - 2] == shape[shape.rank() - 1] ? "matrix_exp" : "householder";
  require<ValueError>(map == "matrix_exp" || map == "cayley" || map == "householder",
      "orthogonal_map has to be one of \"matrix_exp\", \"cayley\", \"householder\". Got: {}", map);
  parametrize::register_parametrization(module, name, make_ref<Orthogonal>(shape, map, use_trivialization), true);
}

}  // namespace parametrizations
}  // namespace pyburn::nn
