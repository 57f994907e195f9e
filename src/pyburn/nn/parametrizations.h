// Parametrizations to use: weights of a given norm, of spectral norm 1, orthogonal ones. State dicts are PyTorch's.
//
//   nn::parametrizations::spectral_norm(*layer);  // layer->tensor("weight") is divided by its largest singular value from now on
#pragma once
#include "pyburn/nn/layer.h"
#include "pyburn/nn/parametrize.h"

namespace pyburn::nn {

// The norm over all axes but one, which stays; over all of them for -1.
TensorHandle norm_except(const TensorHandle& v, int64_t dim);
TensorHandle with_norm(const TensorHandle& v, const TensorHandle& norm, int64_t dim);  // v, with this norm_except instead of its own
// A weight as a matrix whose rows are the entries of axis `dim`.
TensorHandle as_rows(const TensorHandle& weight, int64_t dim);
// Makes u and v, in place, better estimates of the singular vectors of the largest singular value.
void power_iterations(const TensorHandle& matrix, const TensorHandle& u, const TensorHandle& v, int64_t count, double eps);

// Length times direction, which are trained apart.
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

// The length per entry of axis `dim`, or of all of it. Checkpoints of the older nn.utils.weight_norm (weight_g, weight_v) load too.
void weight_norm(Module& module, const std::string& name = "weight", std::optional<int64_t> dim = 0);
// Divided by its largest singular value, which is followed by power iterations while training. `dim`: that of the outputs, 1 for
// transposed convolutions and 0 for others unless it is given.
void spectral_norm(Module& module, const std::string& name = "weight", int64_t n_power_iterations = 1, double eps = 1e-12,
    std::optional<int64_t> dim = {});
// With orthonormal columns, or rows where those are fewer. `orthogonal_map`: "matrix_exp" (for square weights unless it is given),
// "cayley" or "householder" (for others).
void orthogonal(Module& module, const std::string& name = "weight", std::string orthogonal_map = "", bool use_trivialization = true);

}  // namespace parametrizations
}  // namespace pyburn::nn
