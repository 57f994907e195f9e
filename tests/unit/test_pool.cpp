// Pools against plain loops: every step, padding and dilation of windows, and NaN.
#include <cmath>
#include <limits>

#include "cpu_test.h"
#include "pyburn/ops/pool.h"

namespace pyburn::cpu {
namespace {

struct Case {
  int64_t height, width;
  int64_t kernel, stride = 1, padding = 0, dilation = 1;
  bool ceil_mode = false;
};
const Case kCases[] = {
    {28, 28, 3, 1, 1},
    {7, 7, 3, 1, 1},
    {57, 33, 3, 2, 1},
    {56, 56, 3, 2, 0, 1, true},
    {14, 15, 2, 2},
    {40, 70, 5, 1, 2},
    {30, 28, 4, 1, 1, 2},
    {9, 40, 3, 2, 1, 2},
    {13, 13, 13, 1, 6},
    {20, 20, 3, 3, 1},
    {300, 20, 5, 2, 2},
    {30, 31, 20, 1, 5},
    {7, 9, 7, 1},
    {1, 1, 1},
};

class PoolKernels : public CpuTest {
 protected:
  // What `fold` makes of the elements of each window that lie inside, and of how many with the padding; planes of `x`.
  template <class Fold>
  static std::vector<double> by_loops(
      const Case& c, const std::vector<double>& x, const PoolAxis& y_axis, const PoolAxis& x_axis, Fold fold) {
    std::vector<double> result;
    for (size_t plane = 0; plane < x.size(); plane += size_t(c.height * c.width))
      for (int64_t i = 0; i < y_axis.out; ++i)
        for (int64_t j = 0; j < x_axis.out; ++j) {
          std::vector<double> inside;
          for (int64_t r = 0; r < c.kernel; ++r)
            for (int64_t s = 0; s < c.kernel; ++s) {
              const int64_t row = i * c.stride - c.padding + r * c.dilation, column = j * c.stride - c.padding + s * c.dilation;
              if (row >= 0 && row < c.height && column >= 0 && column < c.width)
                inside.push_back(x[plane + size_t(row * c.width + column)]);
            }
          const auto padded = [&](int64_t o, int64_t extent) {
            return std::min(o * c.stride - c.padding + c.kernel, extent + c.padding) - (o * c.stride - c.padding);
          };
          result.push_back(fold(inside, padded(i, c.height) * padded(j, c.width)));
        }
    return result;
  }
};

TEST_F(PoolKernels, GiveWhatLoopsGive) {
  for (const Case& c : kCases)
    for (DType dtype : {DType::float32, DType::float64, DType::int32}) {
      SCOPED_TRACE(testing::Message() << c.height << "x" << c.width << " kernel " << c.kernel << " stride " << c.stride << " padding "
                                      << c.padding << " dilation " << c.dilation << " " << to_text(dtype));
      std::vector<double> v = values(Tensor(random({2, 3, c.height, c.width}) * 100));
      for (size_t i = 0; i < v.size(); i += 97)
        if (is_floating(dtype)) v[i] = i % 2 ? std::nan("") : -std::numeric_limits<double>::infinity();
      const Tensor x = from_values({2, 3, c.height, c.width}, v, dtype);
      const Dims kernel{c.kernel, c.kernel}, stride{c.stride, c.stride}, padding{c.padding, c.padding}, dilation{c.dilation, c.dilation};
      const MaxPool largest{kernel, stride, padding, dilation, c.ceil_mode, false};
      const auto expected = by_loops(
          c, values(x), pool_axis(largest, 0, c.height), pool_axis(largest, 1, c.width), [](const std::vector<double>& inside, int64_t) {
            double most = -std::numeric_limits<double>::infinity();
            for (double e : inside) most = e > most || std::isnan(e) ? e : most;
            return most;
          });
      for (int threads : {1, 2}) {
        set_num_threads(threads);
        const auto got = values(max_pool(x, kernel, stride, padding, dilation, c.ceil_mode, false));
        ASSERT_EQ(got.size(), expected.size());
        for (size_t i = 0; i < got.size(); ++i) ASSERT_TRUE(got[i] == expected[i] || (std::isnan(got[i]) && std::isnan(expected[i]))) << i;
      }
      if (c.dilation > 1 || !is_floating(dtype)) continue;
      for (bool count_padding : {true, false}) {
        const AvgPool mean{{}, kernel, stride, padding, c.ceil_mode, count_padding, 0, false};
        const auto means = by_loops(c, values(x), pool_axis(mean, 0, c.height), pool_axis(mean, 1, c.width),
            [&](const std::vector<double>& inside, int64_t padded) {
              double total = 0;
              for (double e : inside) total += e;
              return total / double(count_padding ? padded : int64_t(inside.size()));
            });
        const auto got = values(avg_pool(x, kernel, stride, padding, c.ceil_mode, count_padding, 0, false));
        ASSERT_EQ(got.size(), means.size());
        for (size_t i = 0; i < got.size(); ++i) {
          if (got[i] == means[i] || (std::isnan(got[i]) && std::isnan(means[i]))) continue;
          ASSERT_NEAR(got[i], means[i], dtype == DType::float64 ? 1e-11 : 1e-4) << i;
        }
      }
    }
}

}  // namespace
}  // namespace pyburn::cpu
