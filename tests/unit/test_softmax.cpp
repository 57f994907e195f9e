// softmax and log_softmax against their definition: every axis, orders of memory, dtypes, extreme values.
#include <cmath>

#include "cpu_test.h"

namespace pyburn::cpu {
namespace {

class SoftmaxKernels : public CpuTest {
 protected:
  void check(const Tensor& x, int64_t dim) {
    SCOPED_TRACE(testing::Message() << to_text(x.layout()) << " along " << dim << " " << to_text(x.dtype()));
    const auto v = values(x);
    int64_t n = x.rank() ? x.shape()[dim] : 1, inner = 1;
    for (int i = int(dim) + 1; i < x.rank(); ++i) inner *= x.shape()[i];
    std::vector<double> plain(v.size()), logarithm(v.size());
    for (size_t k = 0; k < v.size(); ++k) {
      const size_t start = k / size_t(n * inner) * size_t(n * inner) + k % size_t(inner);
      double largest = -INFINITY, sum = 0;
      for (int64_t j = 0; j < n; ++j) largest = std::max(largest, v[start + size_t(j * inner)]);
      for (int64_t j = 0; j < n; ++j) sum += std::exp(v[start + size_t(j * inner)] - largest);
      plain[k] = std::exp(v[k] - largest) / sum;
      logarithm[k] = v[k] - largest - std::log(sum);
    }
    std::vector<double> bits;
    for (int threads : {1, 2, 3}) {
      set_num_threads(threads);
      const auto y = values(softmax(x, dim)), z = values(log_softmax(x, dim));
      if (threads == 1) bits = y;
      ASSERT_EQ(y, bits) << threads << " threads give other bits";
      const double unit = x.dtype() == DType::float64   ? 1e-15
                          : x.dtype() == DType::float32 ? 1e-6
                          : x.dtype() == DType::float16 ? 2e-3
                                                        : 2e-2;
      for (size_t k = 0; k < v.size(); ++k) {
        ASSERT_NEAR(y[k], plain[k], unit * (plain[k] + 1e-6)) << "at " << k;
        ASSERT_NEAR(z[k], logarithm[k], unit * 2 * (1 + std::abs(logarithm[k]))) << "at " << k;
      }
    }
  }
};

TEST_F(SoftmaxKernels, EveryAxisAndOrder) {
  for (const Shape& shape : {Shape{2, 3, 4}, Shape{1, 1, 1}, Shape{5, 17, 1}, Shape{3, 33, 130}, Shape{4, 0, 2}, Shape{2, 600, 3}})
    for (int64_t dim : {0, 1, 2}) {
      check(random(shape), dim);
      check(permute(random(shape), Dims{2, 0, 1}), dim);
    }
  check(random(Shape{}), 0);
  check(expand(random(Shape{3, 1}), Dims{3, 5}), 1);
}

TEST_F(SoftmaxKernels, LongAndManyRows) {
  for (int64_t n : {1, 10, 511, 512, 513, 5000}) check(mul(random(Shape{3, n}), 8), 1);
  check(mul(random(Shape{100, 200}), 8), 0);
  check(mul(random(Shape{500, 20}), 8), 1);
}

TEST_F(SoftmaxKernels, Dtypes) {
  for (DType dtype : {DType::float64, DType::float16, DType::bfloat16})
    for (int64_t dim : {0, 1}) check(random(Shape{20, 30}, dtype), dim);
}

TEST_F(SoftmaxKernels, ExtremeValues) {
  const double inf = INFINITY;
  for (int64_t dim : {0, 1}) {
    auto rows = [&](const std::vector<double>& v) {
      const Tensor x = from_values(Shape{1, int64_t(v.size())}, v);
      return dim ? x : transpose(x, 0, 1);
    };
    EXPECT_EQ(values(softmax(rows({1e30, 1e30, -1e30}), dim)), (std::vector<double>{0.5, 0.5, 0}));
    EXPECT_EQ(values(softmax(rows({0, -inf}), dim)), (std::vector<double>{1, 0}));
    EXPECT_EQ(values(log_softmax(rows({0, -inf}), dim)), (std::vector<double>{0, -inf}));
    for (double v : values(softmax(rows({-inf, -inf}), dim))) EXPECT_TRUE(std::isnan(v));
    for (double v : values(softmax(rows({1, NAN, 2}), dim))) EXPECT_TRUE(std::isnan(v));
  }
}

TEST_F(SoftmaxKernels, IntoItsInput) {
  for (int64_t dim : {0, 1}) {
    const Tensor x = random(Shape{30, 700}), y = softmax(x, dim), z = log_softmax(x, dim), a = clone(x), b = clone(x);
    softmax_into(a, a, dim);
    log_softmax_into(b, b, dim);
    EXPECT_EQ(values(a), values(y));
    EXPECT_EQ(values(b), values(z));
  }
}

}  // namespace
}  // namespace pyburn::cpu
