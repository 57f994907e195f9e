// Initialisers whose elements depend on each other.
#include <algorithm>
#include <vector>

#include "pyburn/decorators/autodiff/autograd.h"
#include "pyburn/nn/init.h"
#include "pyburn/ops/copy.h"
#include "pyburn/ops/generated/binary.h"
#include "pyburn/ops/generated/copy.h"
#include "pyburn/ops/generated/fill.h"
#include "pyburn/ops/generated/pointwise.h"
#include "pyburn/ops/generated/random.h"
#include "pyburn/ops/generated/sort.h"
#include "pyburn/runtime/transfer.h"

namespace pyburn::nn::init {
namespace {

// Gives the columns of a tall matrix (row-major) length 1 and right angles to each other, by Householder reflections: the Q of
// QR with a positive diagonal of R, so that a normal matrix becomes one that is uniform among the orthogonal ones.
std::vector<double> orthonormal_columns(std::vector<double> a, int64_t rows, int64_t columns) {
  const auto at = [&](std::vector<double>& m, int64_t i, int64_t j) -> double& { return m[size_t(i * columns + j)]; };
  std::vector<double> q(a.size(), 0), sign(size_t(columns), 1), scale(size_t(columns), 0);
  // The vector of reflection k is left in column k of a, from the diagonal downwards.
  const auto reflect = [&](std::vector<double>& m, int64_t k, int64_t j) {
    double product = 0;
    for (int64_t i = k; i < rows; ++i) product += at(a, i, k) * at(m, i, j);
    for (int64_t i = k; i < rows; ++i) at(m, i, j) -= scale[size_t(k)] * product * at(a, i, k);
  };
  for (int64_t k = 0; k < columns; ++k) {
    double length = 0;
    for (int64_t i = k; i < rows; ++i) length += at(a, i, k) * at(a, i, k);
    length = std::sqrt(length);
    const double head = at(a, k, k), diagonal = head > 0 ? -length : length;
    sign[size_t(k)] = diagonal < 0 ? -1 : 1;
    at(a, k, k) = head - diagonal;
    const double squares = length * length - head * head + at(a, k, k) * at(a, k, k);
    scale[size_t(k)] = squares > 0 ? 2 / squares : 0;
    for (int64_t j = k + 1; j < columns; ++j) reflect(a, k, j);
  }
  for (int64_t j = 0; j < columns; ++j) {
    at(q, j, j) = sign[size_t(j)];
    for (int64_t k = columns - 1; k >= 0; --k) reflect(q, k, j);
  }
  return q;
}

// Overwrites x with float64 numbers in row-major order. They are converted on the host: the device may have no float64.
void write(const TensorHandle& x, std::vector<double>& values) {
  autograd::NoGrad no_grad;
  const TensorHandle exact = from_host(host_device(), {values.data(), {x.shape(), DType::float64}});
  copy_into(x, moved_to(x.device(), fn::cast(exact, x.dtype())));
}

}  // namespace

void eye_(const TensorHandle& matrix) {
  require<ValueError>(matrix.rank() == 2, "Only tensors with 2 dimensions are supported: got {}", matrix.shape());
  autograd::NoGrad no_grad;
  copy_into(matrix, fn::eye(matrix.shape()[0], matrix.shape()[1], matrix.dtype(), &matrix.device()));
}

void dirac_(const TensorHandle& weight, int64_t groups) {
  const Shape& shape = weight.shape();
  require<ValueError>(
      shape.rank() >= 3 && shape.rank() <= 5, "Only tensors with 3, 4, or 5 dimensions are supported: got {}", weight.shape());
  require<ValueError>(groups > 0 && shape[0] % groups == 0, "dim 0 must be divisible by groups: got {} and {}", shape[0], groups);
  std::vector<double> values(size_t(weight.numel()), 0);
  if (weight.numel() == 0) return;
  int64_t taps = 1, centre = 0;
  for (int i = 2; i < shape.rank(); ++i) taps *= shape[i], centre = centre * shape[i] + shape[i] / 2;  // fits: fewer than elements
  const int64_t per_group = shape[0] / groups;
  for (int64_t g = 0; g < groups; ++g)
    for (int64_t d = 0; d < std::min(per_group, shape[1]); ++d)
      values[size_t(((g * per_group + d) * shape[1] + d) * taps + centre)] = 1;  // fits: the place of an element
  write(weight, values);
}

void orthogonal_(const TensorHandle& weight, double gain, Generator* generator) {
  require<ValueError>(weight.rank() >= 2, "Only tensors with 2 or more dimensions are supported: got {}", weight.shape());
  if (weight.numel() == 0) return;
  const int64_t rows = weight.shape()[0], columns = weight.numel() / rows, tall = std::max(rows, columns), thin = std::min(rows, columns);
  autograd::NoGrad no_grad;
  const TensorHandle drawn = fn::randn({tall, thin}, DType::float64, &host_device(), generator);
  std::vector<double> normal(size_t(weight.numel()));
  to_host(drawn, {normal.data(), drawn.meta()});
  const std::vector<double> q = orthonormal_columns(std::move(normal), tall, thin);
  std::vector<double> values(q.size());
  for (int64_t i = 0; i < rows; ++i)
    for (int64_t j = 0; j < columns; ++j) values[size_t(i * columns + j)] = gain * q[size_t(rows < columns ? j * thin + i : i * thin + j)];
  write(weight, values);
}

void sparse_(const TensorHandle& matrix, double sparsity, double std, Generator* generator) {
  require<ValueError>(matrix.rank() == 2, "Only tensors with 2 dimensions are supported: got {}", matrix.shape());
  autograd::NoGrad no_grad;
  const double zeros = std::ceil(sparsity * double(matrix.shape()[0]));
  const TensorHandle keys = fn::rand({matrix.shape()[0], matrix.shape()[1]}, DType::float32, &matrix.device(), generator);
  const TensorHandle rank = fn::argsort(fn::argsort(keys, 0), 0);  // of each element in its column
  const TensorHandle values = fn::normal_(fn::empty_like(matrix), 0, std, generator);
  copy_into(matrix, fn::masked_fill(values, fn::lt(rank, zeros), 0));
}

}  // namespace pyburn::nn::init
