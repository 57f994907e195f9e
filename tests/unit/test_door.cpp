// The door: promotion, broadcasting, targets that exist, overlapping memory.
#include <gtest/gtest.h>

#include <map>

#include "device_fixture.h"
#include "pyburn/ops/functions.h"
#include "pyburn/start.h"
#include "pyburn/support/error.h"

namespace pyburn {
namespace {

using pyburn::testing::message_of;
using pyburn::testing::tensor;
using pyburn::testing::values;

class Door : public ::testing::Test {
 protected:
  static Device& started() { return start(), device("cpu"); }
  const DeviceScope scope{started()};

  static Tensor vector(std::vector<float> v) {
    const int64_t n = int64_t(v.size());
    return tensor(device("cpu"), Dims{n}, std::move(v));
  }
};

// torch.promote_types, row by row in the order of DType.
TEST_F(Door, PromotesAsPyTorchDoes) {
  static constexpr const char* kTypes[] = {"float64", "float32", "float16", "bfloat16", "int8", "int16", "int32", "int64", "uint8", "bool"};
  static constexpr const char* kTable[10][10] = {
      {"float64", "float64", "float64", "float64", "float64", "float64", "float64", "float64", "float64", "float64"},
      {"float64", "float32", "float32", "float32", "float32", "float32", "float32", "float32", "float32", "float32"},
      {"float64", "float32", "float16", "float32", "float16", "float16", "float16", "float16", "float16", "float16"},
      {"float64", "float32", "float32", "bfloat16", "bfloat16", "bfloat16", "bfloat16", "bfloat16", "bfloat16", "bfloat16"},
      {"float64", "float32", "float16", "bfloat16", "int8", "int16", "int32", "int64", "int16", "int8"},
      {"float64", "float32", "float16", "bfloat16", "int16", "int16", "int32", "int64", "int16", "int16"},
      {"float64", "float32", "float16", "bfloat16", "int32", "int32", "int32", "int64", "int32", "int32"},
      {"float64", "float32", "float16", "bfloat16", "int64", "int64", "int64", "int64", "int64", "int64"},
      {"float64", "float32", "float16", "bfloat16", "int16", "int16", "int32", "int64", "uint8", "uint8"},
      {"float64", "float32", "float16", "bfloat16", "int8", "int16", "int32", "int64", "uint8", "bool"},
  };
  for (int i = 0; i < 10; ++i)
    for (int j = 0; j < 10; ++j) {
      const Tensor a = ones(Dims{2}, dtype_from_name(kTypes[i])), b = ones(Dims{2}, dtype_from_name(kTypes[j]));
      EXPECT_EQ(name_of(add(a, b).dtype()), kTable[i][j]) << kTypes[i] << " and " << kTypes[j];
    }
}

TEST_F(Door, TensorsWithAxesDecideBeforeScalarTensorsAndNumbers) {
  const Tensor f32 = ones(Dims{2}), i32 = ones(Dims{2}, DType::int32), flags = ones(Dims{2}, DType::boolean);
  const Tensor f64_alone = ones(Dims{}, DType::float64), i64_alone = ones(Dims{}, DType::int64);
  EXPECT_EQ(add(f32, f64_alone).dtype(), DType::float32);
  EXPECT_EQ(add(i32, i64_alone).dtype(), DType::int32);
  EXPECT_EQ(add(i32, f64_alone).dtype(), DType::float64);
  EXPECT_EQ(add(i32, 2).dtype(), DType::int32);
  EXPECT_EQ(add(i32, 2.5).dtype(), DType::float32);
  EXPECT_EQ(add(flags, 2).dtype(), DType::int64);
  EXPECT_EQ(add(i64_alone, 2.5).dtype(), DType::float32);
  EXPECT_EQ(div(i32, 2).dtype(), DType::float32);
  EXPECT_EQ(exp(i32).dtype(), DType::float32);
}

TEST_F(Door, Broadcasts) {
  EXPECT_EQ(to_text(add(ones(Dims{3, 1}), ones(Dims{1, 4})).shape()), "(3, 4)");
  EXPECT_EQ(to_text(add(ones(Dims{}), ones(Dims{0, 2})).shape()), "(0, 2)");
  EXPECT_EQ(to_text(add(ones(Dims{2, 1, 1}), ones(Dims{3, 4})).shape()), "(2, 3, 4)");
  EXPECT_EQ(message_of<ShapeError>([] {
    add(ones(Dims{2, 3}), ones(Dims{4, 5}));
  }),
      "[add] shapes do not broadcast: got (2, 3) and (4, 5)");
}

TEST_F(Door, ResultsKeepTheOrderOfAxes) {
  const Tensor x = transpose(ones(Dims{2, 3}), 0, 1);
  EXPECT_EQ(to_text(add(x, 1).strides()), to_text(x.strides()));
  EXPECT_TRUE(add(slice(ones(Dims{4, 4}), 1, 0, 4, 2), 1).layout().is_contiguous());
  EXPECT_TRUE(add(expand(ones(Dims{3, 1}), Dims{3, 4}), 1).layout().is_contiguous());
}

TEST_F(Door, WritesAreChecked) {
  EXPECT_THROW(ones(Dims{2}).add_(ones(Dims{3, 2})), ShapeError);
  EXPECT_THROW(ones(Dims{1}).add_(ones(Dims{2})), ShapeError);
  EXPECT_THROW(ones(Dims{2}, DType::int64).add_(0.5), DTypeError);
  EXPECT_THROW(ones(Dims{2}, DType::boolean).add_(1), DTypeError);
  EXPECT_THROW(expand(ones(Dims{1}), Dims{3}).add_(1), GradientError);
  EXPECT_THROW(add_into(ones(Dims{3}), ones(Dims{2}), ones(Dims{2})), ShapeError);
}

TEST_F(Door, AWriteConvertsToTheTarget) {
  const Tensor x = ones(Dims{2});
  x.add_(full(Dims{2}, 0.5, DType::float64));
  EXPECT_EQ(x.dtype(), DType::float32);
  EXPECT_EQ(values(x), (std::vector<float>{1.5f, 1.5f}));
  const Tensor out = zeros(Dims{2}, DType::float64);
  add_into(out, x, x);
  EXPECT_EQ(values<double>(out), (std::vector<double>{3, 3}));
}

TEST_F(Door, AWriteRaisesTheVersionOnce) {
  const Tensor x = ones(Dims{4});
  const auto version = [&] { return x.storage()->version(); };
  EXPECT_EQ(version(), 0u);
  x.add_(1);
  EXPECT_EQ(version(), 1u);
  slice(x, 0, 0, 2, 1).mul_(2);
  EXPECT_EQ(version(), 2u);
  x.add_(ones(Dims{4}, DType::float64));
  EXPECT_EQ(version(), 3u);
  EXPECT_THROW(x.add_(ones(Dims{5})), ShapeError);
  EXPECT_EQ(version(), 3u);
  add(x, 1);
  EXPECT_EQ(version(), 3u);
}

TEST_F(Door, InputsThatOverlapTheTargetAreReadFirst) {
  const auto shifted = [](int64_t from, int64_t to) {
    const Tensor x = vector({1, 2, 3, 4, 5});
    copy_into(slice(x, 0, to, to + 4, 1), slice(x, 0, from, from + 4, 1));
    return values(x);
  };
  EXPECT_EQ(shifted(0, 1), (std::vector<float>{1, 1, 2, 3, 4}));
  EXPECT_EQ(shifted(1, 0), (std::vector<float>{2, 3, 4, 5, 5}));
  const Tensor m = arange(9, {}, 1, DType::float32).view(Dims{3, 3});
  m.add_(transpose(m, 0, 1));
  EXPECT_EQ(values(m), (std::vector<float>{0, 4, 8, 4, 8, 12, 8, 12, 16}));
  const Tensor x = vector({1, 2, 3});
  x.mul_(x);
  EXPECT_EQ(values(x), (std::vector<float>{1, 4, 9}));
  const Tensor y = vector({1, 2, 3});
  y.add_(select(y, 0, 2));  // a broadcast part of the target
  EXPECT_EQ(values(y), (std::vector<float>{4, 5, 6}));
}

TEST_F(Door, DevicesDoNotMix) {
  const Tensor here = ones(Dims{2}), there = ones(Dims{2}, {}, &device("inner(cpu)"));
  EXPECT_THROW(add(here, there), DeviceError);
}

TEST_F(Door, ErrorsNameTheOperation) {
  EXPECT_EQ(message_of<ShapeError>([] {
    matmul(ones(Dims{2, 3}), ones(Dims{4, 5}));
  }),
      "[matmul] inner dimensions differ: got (2, 3) and (4, 5)");
  EXPECT_EQ(message_of<DTypeError>([] { ones(Dims{2}, DType::int64).add_(0.5); }),
      "[add] result type float32 can't be cast to the desired output type int64");
  const Tensor x = zeros(Dims{2, 3});  // a composite, which does not pass the door under its own name
  EXPECT_EQ(message_of<ValueError>([&] { triplet_margin_loss(x, x, x, -1.0); }),
      "[triplet_margin_loss] expected a margin greater than 0: got -1.0");
}

}  // namespace
}  // namespace pyburn
