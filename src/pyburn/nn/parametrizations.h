// Ready-made parametrizations: weight norm, spectral norm, orthogonal. State dicts are PyTorch's.
//
//   nn::parametrizations::spectral_norm(*layer);  // layer->tensor("weight") is divided by its largest singular value from now on
#pragma once
#include "pyburn/nn/layer.h"
#include "pyburn/nn/parametrize.h"

namespace pyburn::nn {

// The norm over all dimensions except one; over all dimensions for -1.
TensorHandle norm_except(const TensorHandle& v, int64_t dim);
TensorHandle with_norm(const TensorHandle& v, const TensorHandle& norm, int64_t dim);  // v, with the given norm_except
// A weight as a matrix whose rows are the entries of dimension `dim`.
TensorHandle as_rows(const TensorHandle& weight, int64_t dim);
// Improves u and v, in place, as estimates of the singular vectors of the largest singular value.
void power_iterations(const TensorHandle& matrix, const TensorHandle& u, const TensorHandle& v, int64_t count, double eps);

// Weight as magnitude times direction, trained separately.
class WeightNorm final : public Parametrization {
 public:
  explicit WeightNorm(int64_t dim) : dim_(dim) {}
  TensorHandle compute(const Tensors& originals) override;  // g and v
  std::optional<Tensors> right_inverse(const TensorHandle& weight) override;
  std::string type_name() const override { return "_WeightNorm"; }
  PB_COPYABLE(WeightNorm)

 private:
  int64_t dim_;
};

class SpectralNorm final : public Parametrization {
 public:
  SpectralNorm(const TensorHandle& weight, int64_t n_power_iterations, int64_t dim, double eps);
  TensorHandle forward(const TensorHandle& weight) override;
  std::optional<Tensors> right_inverse(const TensorHandle& value) override { return Tensors{value}; }
  std::string type_name() const override { return "_SpectralNorm"; }
  PB_COPYABLE(SpectralNorm)

 private:
  int64_t n_power_iterations_, dim_;
  double eps_;
};

class Orthogonal final : public Parametrization {
 public:
  Orthogonal(Shape shape, std::string map, bool use_trivialization);
  TensorHandle forward(const TensorHandle& x) override;
  std::optional<Tensors> right_inverse(const TensorHandle& q) override;
  std::string type_name() const override { return "_Orthogonal"; }
  PB_COPYABLE(Orthogonal)

 private:
  Shape shape_;
  std::string map_;
  bool use_trivialization_;
};

namespace parametrizations {

// A magnitude per entry of dimension `dim`, or one in total. Also loads checkpoints of the older nn.utils.weight_norm (weight_g, weight_v).
void weight_norm(Module& module, const std::string& name = "weight", std::optional<int64_t> dim = 0);
// Divides by the largest singular value, estimated by power iterations in training mode. `dim`: the output dimension, by default 1 for
// transposed convolutions and 0 for others.
void spectral_norm(Module& module, const std::string& name = "weight", int64_t n_power_iterations = 1, double eps = 1e-12,
    std::optional<int64_t> dim = {});
// Orthonormal columns, or rows if there are fewer rows. `orthogonal_map`: "matrix_exp" (default for square weights), "cayley" or
// "householder" (default for others).
void orthogonal(Module& module, const std::string& name = "weight", std::string orthogonal_map = "", bool use_trivialization = true);

}  // namespace parametrizations
}  // namespace pyburn::nn
