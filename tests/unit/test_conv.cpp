// conv2d and its two gradients against seven plain loops; equal bits for any number of threads.
#include <algorithm>
#include <cmath>
#include <limits>

#include "cpu_test.h"

namespace pyburn::cpu {
namespace {

struct Case {
  int64_t batch, channels, height, width, outputs, kernel_y, kernel_x;
  Dims stride = {1, 1}, padding = {0, 0}, dilation = {1, 1};
  int64_t groups = 1;

  Shape input() const { return {batch, channels, height, width}; }
  Shape weight() const { return {outputs, channels / groups, kernel_y, kernel_x}; }
  Shape output() const {
    return {batch, outputs, (height + 2 * padding[0] - dilation[0] * (kernel_y - 1) - 1) / stride[0] + 1,
        (width + 2 * padding[1] - dilation[1] * (kernel_x - 1) - 1) / stride[1] + 1};
  }

  // Calls meet(input index, weight index, output index) for every product of the convolution.
  template <class Meet>
  void for_each(Meet meet) const {
    const Shape y = output(), w = weight();
    for (int64_t n = 0; n < batch; ++n)
      for (int64_t o = 0; o < outputs; ++o)
        for (int64_t c = 0; c < w[1]; ++c)
          for (int64_t i = 0; i < kernel_y; ++i)
            for (int64_t j = 0; j < kernel_x; ++j)
              for (int64_t r = 0; r < y[2]; ++r)
                for (int64_t s = 0; s < y[3]; ++s) {
                  const int64_t row = r * stride[0] - padding[0] + i * dilation[0], column = s * stride[1] - padding[1] + j * dilation[1];
                  if (row < 0 || row >= height || column < 0 || column >= width) continue;
                  const int64_t channel = o / (outputs / groups) * w[1] + c;
                  meet(size_t(((n * channels + channel) * height + row) * width + column),
                      size_t(((o * w[1] + c) * kernel_y + i) * kernel_x + j), size_t(((n * outputs + o) * y[2] + r) * y[3] + s));
                }
  }
};

class ConvKernels : public CpuTest {
 protected:
  void check(const Case& c, DType dtype = DType::float32) {
    SCOPED_TRACE(testing::Message() << to_text(c.input()) << " with " << to_text(c.weight()) << " stride " << to_text(Shape(c.stride))
                                    << " padding " << to_text(Shape(c.padding)) << " dilation " << to_text(Shape(c.dilation)) << " groups "
                                    << c.groups);
    const Tensor x = random(c.input(), dtype), w = random(c.weight(), dtype), b = random(Shape{c.outputs}, dtype),
                 dy = random(c.output(), dtype);
    const auto xv = values(x), wv = values(w), bv = values(b), dyv = values(dy);
    std::vector<double> y(dyv.size()), dx(xv.size()), dw(wv.size());
    c.for_each([&](size_t i, size_t k, size_t o) {
      y[o] += xv[i] * wv[k];
      dx[i] += dyv[o] * wv[k];
      dw[k] += dyv[o] * xv[i];
    });
    auto forward = [&] { return conv2d(x, w, TensorHandle(), c.stride, c.padding, c.dilation, c.groups); };
    compare("output", y, dtype, forward);
    compare("input gradient", dx, dtype, [&] { return conv2d_input(dy, w, c.input(), c.stride, c.padding, c.dilation, c.groups); });
    compare("weight gradient", dw, dtype, [&] { return conv2d_weight(x, dy, c.weight(), c.stride, c.padding, c.dilation, c.groups); });
    const int64_t pixels = c.output()[2] * c.output()[3];
    for (size_t k = 0; k < y.size(); ++k) y[k] += bv[k / size_t(pixels) % size_t(c.outputs)];
    compare("output with bias", y, dtype, [&] { return conv2d(x, w, b, c.stride, c.padding, c.dilation, c.groups); });
  }

  template <class Compute>
  void compare(const char* what, const std::vector<double>& expected, DType dtype, Compute compute) {
    std::vector<double> bits;
    for (int threads : {1, 2, 3}) {
      set_num_threads(threads);
      const auto got = values(compute());
      if (threads == 1) bits = got;
      ASSERT_EQ(got, bits) << what << ": " << threads << " threads give other bits";
    }
    ASSERT_EQ(bits.size(), expected.size()) << what;
    double scale = 1;
    for (double v : expected) scale = std::max(scale, std::abs(v));
    const double unit = dtype == DType::float64 ? 1e-13 : dtype == DType::float32 ? 1e-5 : dtype == DType::float16 ? 2e-3 : 1e-2;
    for (size_t k = 0; k < bits.size(); ++k) ASSERT_NEAR(bits[k], expected[k], unit * scale) << what << " at " << k;
  }
};

TEST_F(ConvKernels, StridePaddingDilation) {
  for (const Dims& stride : {Dims{1, 1}, Dims{2, 2}, Dims{1, 3}})
    for (const Dims& padding : {Dims{0, 0}, Dims{1, 1}, Dims{2, 0}, Dims{5, 6}})
      for (const Dims& dilation : {Dims{1, 1}, Dims{2, 1}, Dims{2, 3}})
        for (int64_t groups : {1, 2, 4}) check({2, 4, 9, 11, 8, 3, 2, stride, padding, dilation, groups});
}

TEST_F(ConvKernels, KernelAsLargeAsTheInputAndOddSizes) {
  check({1, 1, 1, 1, 1, 1, 1});
  check({3, 2, 5, 5, 3, 5, 5});
  check({1, 3, 7, 1, 2, 3, 1});
  check({2, 1, 28, 28, 7, 5, 5});
  check({1, 2, 4, 4, 3, 1, 1, {1, 1}, {3, 3}});
}

TEST_F(ConvKernels, Pointwise) {
  check({2, 5, 4, 3, 7, 1, 1});
  check({1, 33, 14, 14, 70, 1, 1});
  check({2, 5, 4, 3, 7, 1, 1}, DType::float64);
  check({2, 6, 8, 7, 4, 1, 1, {2, 2}});
  check({2, 6, 5, 5, 9, 1, 1, {1, 1}, {0, 0}, {1, 1}, 3});
}

TEST_F(ConvKernels, PointwiseOfSmallPlanes) {
  check({1, 96, 7, 7, 70, 1, 1});
  check({3, 300, 14, 13, 17, 1, 1});
  check({2, 130, 3, 5, 192, 1, 1, {1, 1}, {0, 0}, {1, 1}, 2});
}

TEST_F(ConvKernels, FewChannelsOfWideImages) {
  check({1, 40, 20, 48, 16, 3, 3, {1, 1}, {1, 1}});
  check({2, 20, 37, 64, 10, 3, 3, {2, 2}, {1, 1}});
  check({1, 16, 40, 64, 40, 2, 2, {2, 2}});  // the gradient of its input is a transposed convolution without overlap
}

TEST_F(ConvKernels, Depthwise) {
  check({2, 5, 12, 40, 5, 3, 3, {1, 1}, {1, 1}, {1, 1}, 5});
  check({2, 5, 12, 40, 10, 3, 5, {2, 2}, {1, 2}, {1, 1}, 5});
  check({1, 3, 9, 9, 3, 3, 3, {1, 1}, {4, 4}, {2, 2}, 3});
}

TEST_F(ConvKernels, DepthwiseAtTheEndsOfVectors) {
  for (int64_t width : {7, 15, 16, 17, 33})
    for (int64_t kernel : {2, 3, 5, 7})
      for (int64_t stride : {1, 2, 3}) {
        const Dims middle{kernel / 2, kernel / 2};
        check({2, 3, 9, width, 3, kernel, kernel, {stride, stride}, middle, {1, 1}, 3});
      }
  check({2, 3, 10, 18, 3, 3, 3, {1, 2}, {1, 1}, {1, 1}, 3});
  check({2, 3, 10, 18, 3, 3, 3, {2, 1}, {1, 0}, {1, 2}, 3});
  check({1, 2, 3, 4, 2, 3, 3, {2, 2}, {6, 7}, {1, 1}, 2});
  check({1, 2, 250, 150, 2, 3, 3, {1, 1}, {1, 1}, {1, 1}, 2});  // several strips
  check({1, 2, 250, 150, 2, 5, 3, {2, 2}, {2, 1}, {1, 1}, 2});
}

TEST_F(ConvKernels, DepthwiseOddShapes) {
  check({2, 3, 1, 1, 3, 3, 3, {1, 1}, {1, 1}, {1, 1}, 3});
  check({2, 3, 1, 1, 3, 3, 3, {2, 2}, {1, 1}, {1, 1}, 3});
  check({1, 3, 2, 3, 3, 7, 7, {1, 1}, {3, 3}, {1, 1}, 3});  // a kernel larger than the image
  check({1, 3, 2, 3, 3, 5, 7, {2, 2}, {4, 3}, {1, 1}, 3});
  check({1, 3, 1, 70, 3, 1, 31, {1, 1}, {0, 15}, {1, 1}, 3});  // one row
  check({1, 3, 70, 1, 3, 31, 1, {1, 1}, {15, 0}, {1, 1}, 3});
  check({2, 3, 11, 40, 3, 3, 3, {1, 1}, {2, 2}, {1, 2}, 3});
  check({2, 3, 11, 40, 3, 3, 3, {3, 2}, {1, 1}, {1, 1}, 3});
  check({2, 3, 11, 40, 3, 3, 3, {2, 3}, {1, 1}, {2, 1}, 3});
  for (int64_t padding : {0, 1, 2, 3})  // the gradient of a 3x3 kernel in steps of two, in each phase
    for (int64_t width : {5, 16, 33, 64}) check({1, 2, 19, width, 2, 3, 3, {2, 2}, {padding, padding}, {1, 1}, 2});
}

TEST_F(ConvKernels, WhatATapDoesNotMeetStaysOutOfItsGradient) {
  for (int64_t channels : {1, 3})  // by planes; each channel with a kernel of its own
    for (int64_t stride : {1, 2}) {
      const int64_t height = 5, width = 42, groups = channels;
      std::vector<double> v(size_t(channels * height * width), 1.0);
      for (size_t i = size_t(width) - 1; i < v.size(); i += size_t(width)) v[i] = std::numeric_limits<double>::infinity();
      const Shape w{channels, 1, 3, 3}, y{1, channels, (height - 3) / stride + 1, (width - 3) / stride + 1};
      const Tensor x = from_values({1, channels, height, width}, v);
      const auto dw = values(conv2d_weight(x, random(y), w, Dims{stride, stride}, Dims{0, 0}, Dims{1, 1}, groups));
      for (size_t i = 0; i < dw.size(); ++i)  // the last column is met by the last tap only, in steps of two by none
        if (stride == 2 || i % 3 < 2) {
          EXPECT_TRUE(std::isfinite(dw[i])) << channels << " channels, stride " << stride << ", weight " << i;
        }
    }
}

TEST_F(ConvKernels, PlanesDoNotMeetTheirNeighbours) {
  for (int64_t size : {3, 7}) {
    const int64_t plane = size * size;
    std::vector<double> v(size_t(6 * plane), 1.0);
    std::fill_n(v.begin() + plane, plane, std::numeric_limits<double>::infinity());  // of six planes, the second and the fifth
    std::fill_n(v.begin() + 4 * plane, plane, std::numeric_limits<double>::infinity());
    const Tensor x = from_values({2, 3, size, size}, v), w = random({3, 1, 3, 3});
    const Dims one{1, 1};
    const auto y = values(conv2d(x, w, TensorHandle(), one, one, one, 3));
    const auto dw = values(conv2d_weight(x, random({2, 3, size, size}), Shape{3, 1, 3, 3}, one, one, one, 3));
    for (size_t i = 0; i < y.size(); ++i)
      EXPECT_TRUE(i / size_t(plane) % 3 == 1 || std::isfinite(y[i])) << "result " << i << " of planes of " << size;
    for (size_t i = 0; i < dw.size(); ++i) EXPECT_TRUE(i / 9 == 1 || std::isfinite(dw[i])) << "weight " << i << " of planes of " << size;
  }
}

TEST_F(ConvKernels, DepthwiseWithShortRows) {
  for (int64_t channels : {16, 37})
    for (int64_t stride : {1, 2, 3})
      for (int64_t kernel : {3, 5}) {
        const Dims middle{kernel / 2, kernel / 2};
        check({2, channels, 7, 7, channels, kernel, kernel, {stride, stride}, middle, {1, 1}, channels});
        check({2, channels, 14, 14, channels, kernel, kernel, {stride, stride}, middle, {1, 1}, channels});
      }
  check({1, 20, 6, 5, 20, 3, 3, {1, 1}, {4, 4}, {2, 2}, 20});
  check({1, 16, 300, 8, 16, 3, 3, {1, 1}, {1, 1}, {1, 1}, 16});
}

TEST_F(ConvKernels, FewChannelsInAGroup) {
  check({2, 12, 9, 17, 12, 3, 3, {1, 1}, {1, 1}, {1, 1}, 3});
  check({2, 12, 9, 33, 30, 3, 3, {2, 2}, {1, 1}, {1, 1}, 6});
  check({1, 12, 8, 20, 12, 3, 2, {3, 3}, {2, 1}, {2, 2}, 4});
  check({2, 3, 40, 37, 20, 7, 7, {2, 2}, {3, 3}});
  check({1, 3, 120, 70, 7, 3, 3, {1, 1}, {1, 1}});
  check({2, 4, 5, 18, 13, 3, 3, {2, 1}, {0, 2}, {1, 3}});
}

TEST_F(ConvKernels, FewChannelsOrFewResults) {
  check({2, 3, 40, 37, 20, 3, 3, {2, 2}, {1, 1}});
  check({9, 2, 20, 33, 7, 5, 3, {1, 2}, {2, 1}});
  check({1, 4, 19, 48, 5, 3, 3, {1, 1}, {1, 1}, {2, 2}});
  check({2, 32, 20, 34, 3, 3, 3, {2, 2}, {1, 1}});
  check({2, 3, 33, 34, 24, 3, 3, {2, 2}, {1, 1}});  // its input gradient has three results
  check({1, 11, 18, 20, 9, 3, 3, {1, 1}, {1, 1}});
}

TEST_F(ConvKernels, OneRow) {
  check({2, 16, 1, 100, 20, 1, 3, {1, 1}, {0, 1}});
  check({2, 20, 1, 65, 33, 1, 7, {1, 2}, {0, 3}});
  check({1, 6, 1, 40, 8, 1, 3, {1, 1}, {0, 4}, {1, 4}, 2});
}

TEST_F(ConvKernels, PointwiseInSteps) {
  check({2, 20, 15, 33, 40, 1, 1, {2, 2}});
  check({2, 5, 16, 64, 7, 1, 1, {2, 2}});
  check({3, 6, 10, 11, 9, 1, 1, {3, 2}, {0, 0}, {1, 1}, 3});
  check({2, 6, 10, 11, 9, 1, 1, {2, 2}, {1, 1}});
  check({3, 130, 9, 9, 70, 1, 1, {2, 2}});  // channels in two parts, slices over several images
  check({2, 20, 8, 7, 5, 1, 1, {1, 2}});
  check({2, 20, 8, 7, 5, 1, 1, {4, 1}});
  check({1, 8, 50, 60, 6, 1, 1, {3, 3}});
  check({2, 3, 20, 26, 128, 1, 1, {2, 2}});  // the last slice of pixels is a part of one row
  check({2, 6, 10, 11, 9, 1, 1, {2, 2}}, DType::float64);
}

TEST_F(ConvKernels, PointwiseOfSmallImages) {
  check({8, 33, 7, 7, 70, 1, 1});
  check({3, 12, 2, 3, 9, 1, 1, {1, 1}, {0, 0}, {1, 1}, 3});
  check({1, 40, 1, 1, 30, 1, 1});
  check({20, 40, 1, 1, 30, 1, 1});
  check({2, 300, 9, 8, 13, 1, 1});
}

TEST_F(ConvKernels, WinogradWithFewBlocksAndMany) {
  check({1, 20, 17, 18, 140, 3, 3, {1, 1}, {1, 1}});
  check({1, 16, 40, 38, 33, 3, 3, {1, 1}, {1, 1}});
  check({4, 17, 40, 41, 32, 3, 3, {1, 1}, {0, 2}});
  check({2, 40, 16, 12, 64, 3, 3, {1, 1}, {1, 1}, {1, 1}, 2});
}

TEST_F(ConvKernels, LargeEnoughForSeveralTasks) {
  check({1, 40, 30, 30, 70, 3, 3, {1, 1}, {1, 1}});
  check({9, 3, 33, 31, 16, 3, 3, {1, 1}, {1, 1}});
  check({2, 1, 60, 60, 24, 7, 7, {2, 2}, {3, 3}});
}

TEST_F(ConvKernels, Dtypes) {
  for (DType dtype : {DType::float64, DType::float16, DType::bfloat16}) {
    check({2, 3, 9, 20, 6, 3, 3, {2, 2}, {1, 1}}, dtype);
    check({2, 5, 9, 20, 5, 3, 3, {2, 2}, {1, 1}, {1, 1}, 5}, dtype);
    check({2, 18, 7, 7, 18, 3, 3, {1, 1}, {1, 1}, {1, 1}, 18}, dtype);
    check({2, 6, 7, 6, 4, 1, 1, {2, 2}}, dtype);
    check({2, 6, 7, 6, 4, 1, 1}, dtype);
    check({2, 4, 7, 6, 6, 3, 3, {1, 1}, {1, 1}, {1, 1}, 2}, dtype);
    check({2, 4, 7, 6, 4, 3, 3, {1, 1}, {1, 1}, {1, 1}, 4}, dtype);
  }
}

TEST_F(ConvKernels, AnyOrderOfMemory) {
  const Tensor x = permute(random(Shape{2, 7, 6, 4}), Dims{0, 3, 1, 2}), w = transpose(random(Shape{4, 5, 3, 3}), 0, 1);
  const Tensor expected = conv2d(contiguous(x), contiguous(w)), dy = permute(random(Shape{2, 5, 4, 5}), Dims{0, 3, 1, 2});
  EXPECT_EQ(values(conv2d(x, w)), values(expected));
  const Dims one{1, 1}, zero{0, 0};
  EXPECT_EQ(values(conv2d_input(dy, w, x.shape(), one, zero, one, 1)),
      values(conv2d_input(contiguous(dy), contiguous(w), x.shape(), one, zero, one, 1)));
  EXPECT_EQ(values(conv2d_weight(x, dy, w.shape(), one, zero, one, 1)),
      values(conv2d_weight(contiguous(x), contiguous(dy), w.shape(), one, zero, one, 1)));
}

TEST_F(ConvKernels, EmptyBatchGivesZeroGradients) {
  const Dims one{1, 1}, zero{0, 0};
  const Tensor x = random(Shape{0, 3, 5, 5}), w = random(Shape{2, 3, 3, 3}), dy = random(Shape{0, 2, 3, 3});
  EXPECT_EQ(conv2d(x, w).shape(), (Shape{0, 2, 3, 3}));
  EXPECT_EQ(values(conv2d_weight(x, dy, w.shape(), one, zero, one, 1)), std::vector<double>(54, 0.0));
}

}  // namespace
}  // namespace pyburn::cpu
