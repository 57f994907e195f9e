// Reductions against a plain loop over indices: all axes, orders of memory and dtypes; equal bits for any number of threads.
#include <cmath>
#include <functional>
#include <limits>

#include "cpu_test.h"

namespace pyburn::cpu {
namespace {

// Folds x over `dim` index by index, in long double.
std::vector<double> plain_fold(
    const Tensor& x, const Dims& dim, double first, const std::function<long double(long double, double)>& join) {
  const auto v = [&] {
    const Tensor y = contiguous(cast(x, DType::float64));
    return std::vector<double>(y.data<double>(), y.data<double>() + y.numel());
  }();
  std::vector<bool> folded(size_t(x.rank()), false);
  for (int64_t d : dim) folded[size_t(d)] = true;
  int64_t results = 1;
  for (int i = 0; i < x.rank(); ++i)
    if (!folded[size_t(i)]) results *= x.shape()[i];
  std::vector<long double> acc(size_t(results), first);
  for (size_t k = 0; k < v.size(); ++k) {
    int64_t rest = int64_t(k), at = 0, scale = 1;
    for (int i = x.rank() - 1; i >= 0; --i) {
      if (!folded[size_t(i)]) at += rest % x.shape()[i] * scale, scale *= x.shape()[i];
      rest /= x.shape()[i];
    }
    acc[size_t(at)] = join(acc[size_t(at)], v[k]);
  }
  return {acc.begin(), acc.end()};
}

class ReduceKernels : public CpuTest {
 protected:
  void check(const Tensor& x, const Dims& dim) {
    SCOPED_TRACE(testing::Message() << to_text(x.layout()) << " over " << to_text(Shape(dim)) << " " << to_text(x.dtype()));
    check_fold(
        x, dim, [](const Tensor& t, const Dims& d, bool keep) { return sum(t, d, keep); }, 0,
        [](long double a, double b) { return a + b; });
    if (count_of(x, dim) == 0) return;
    constexpr double infinity = std::numeric_limits<double>::infinity();
    check_fold(
        x, dim, [](const Tensor& t, const Dims& d, bool keep) { return amax(t, d, keep); }, -infinity,
        [](long double a, double b) { return std::max<long double>(a, b); });
    check_fold(
        x, dim, [](const Tensor& t, const Dims& d, bool keep) { return amin(t, d, keep); }, infinity,
        [](long double a, double b) { return std::min<long double>(a, b); });
  }
  static int64_t count_of(const Tensor& x, const Dims& dim) {
    int64_t n = 1;
    for (int64_t d : dim) n *= x.shape()[d];
    return n;
  }

 private:
  template <class Fold, class Join>
  void check_fold(const Tensor& x, const Dims& dim, Fold fold, double first, Join join) {
    const auto expected = plain_fold(x, dim, first, join);
    std::vector<double> bits;
    for (int threads : {1, 2, 3}) {
      set_num_threads(threads);
      const auto got = values(fold(x, dim, false));
      ASSERT_EQ(got, values(fold(x, dim, true)));
      if (threads == 1) bits = got;
      ASSERT_EQ(got, bits) << threads << " threads give other bits";
    }
    ASSERT_EQ(bits.size(), expected.size());
    const double tolerance = x.dtype() == DType::float64 ? 1e-13 : x.dtype() == DType::float16 ? 5e-3 : 1e-6;
    for (size_t i = 0; i < bits.size(); ++i) ASSERT_NEAR(bits[i], expected[i], tolerance * (1 + std::abs(expected[i]))) << "at " << i;
  }
};

TEST_F(ReduceKernels, EverySubsetOfAxes) {
  for (const Shape& shape : {Shape{2, 3, 4, 5}, Shape{1, 7, 1, 33}, Shape{3, 1, 65, 2}, Shape{5, 0, 2, 3}}) {
    const Tensor x = random(shape);
    for (int mask = 1; mask < 16; ++mask) {
      Dims dim;
      for (int i = 0; i < 4; ++i)
        if (mask >> i & 1) dim.push_back(i);
      check(x, dim);
      check(permute(x, Dims{3, 1, 0, 2}), dim);
      check(permute(x, Dims{1, 0, 3, 2}), dim);
    }
  }
}

TEST_F(ReduceKernels, LengthsAroundVectors) {
  for (int64_t n = 1; n < 70; ++n) {
    check(random(Shape{3, n}), Dims{1});
    check(random(Shape{n, 3}), Dims{0});
    check(random(Shape{n, 3}, DType::float64), Dims{0, 1});
  }
}

TEST_F(ReduceKernels, LargeOnesUseParts) {
  check(random(Shape{300007}), Dims{0});
  check(random(Shape{700, 500}), Dims{0, 1});
  check(random(Shape{3000, 33}), Dims{0});
  check(transpose(random(Shape{3000, 33}), 0, 1), Dims{1});
  check(random(Shape{9, 4, 60, 61}), Dims{0, 2, 3});
  check(random(Shape{2, 70000}), Dims{1});
  check(slice(random(Shape{400, 600}), 1, 1, 599, 2), Dims{0, 1});
}

TEST_F(ReduceKernels, OtherDtypes) {
  for (DType dtype : {DType::float16, DType::int64}) {
    const Tensor x = cast(mul(random(Shape{5, 6, 7}), 10), dtype);
    check(x, Dims{0});
    check(x, Dims{1, 2});
  }
  check(expand(random(Shape{4, 1, 3}), Dims{4, 5, 3}), Dims{1});
  check(expand(random(Shape{1, 5, 3}), Dims{4, 5, 3}), Dims{2});
}

TEST_F(ReduceKernels, LongSumsKeepTheirDigits) {
  const Tensor x = cast(full(Dims{1 << 22}, 0.1), DType::float32);
  EXPECT_NEAR(values(sum(x))[0], double(0.1f) * (1 << 22), 0.05);
  EXPECT_FLOAT_EQ(float(values(mean(x))[0]), 0.1f);
}

TEST_F(ReduceKernels, NanWins) {
  for (int64_t at : {0, 5, 36, 99}) {
    std::vector<double> v(100, 1.0);
    v[size_t(at)] = NAN;
    for (DType dtype : {DType::float32, DType::float64}) {
      const Tensor x = from_values(Shape{100}, v, dtype);
      EXPECT_TRUE(std::isnan(values(amax(x))[0]));
      EXPECT_TRUE(std::isnan(values(amin(x))[0]));
      EXPECT_TRUE(std::isnan(values(amax(reshape(x, Dims{10, 10}), Dims{0}))[size_t(at % 10)]));
    }
    EXPECT_EQ(values(argmax(from_values(Shape{100}, v)))[0], double(at));
  }
  EXPECT_TRUE(std::isnan(values(mean(random(Shape{0})))[0]));
}

TEST_F(ReduceKernels, ArgmaxTakesTheFirst) {
  const Tensor x = from_values(Shape{2, 3}, {1, 5, 5, 7, 2, 7});
  EXPECT_EQ(values(argmax(x, 1)), (std::vector<double>{1, 0}));
  EXPECT_EQ(values(argmax(x, 0)), (std::vector<double>{1, 0, 1}));
  EXPECT_EQ(values(argmax(transpose(x, 0, 1), 0)), (std::vector<double>{1, 0}));
  EXPECT_EQ(values(argmax(x))[0], 3);
}

}  // namespace
}  // namespace pyburn::cpu
