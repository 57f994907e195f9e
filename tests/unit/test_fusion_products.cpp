// On a fusion device what is done to the result of a product is done to its pieces.
#include <array>

#include "fusion_fixture.h"
#include "pyburn/support/thread_pool.h"

namespace pyburn {
namespace {

// A product and what is done to its result: one kernel, the same bits as one after the other, whatever the order of memory and the dtype.
TEST(Fusion, ProductBeginsTheKernel) {
  const FusionDevice f(0);
  using Program = Tensor (*)(const TensorHandle& x, const TensorHandle& w, const TensorHandle& bias, const TensorHandle& rest);
  const Program programs[] = {
      +[](const TensorHandle& x, const TensorHandle& w, const TensorHandle& b, const TensorHandle&) -> Tensor {
        return relu(linear(x, w, b));
      },
      +[](const TensorHandle& x, const TensorHandle& w, const TensorHandle& b, const TensorHandle& r) -> Tensor {
        return r + gelu(linear(x, w, b)) * 0.5;
      },
      +[](const TensorHandle& x, const TensorHandle& w, const TensorHandle&, const TensorHandle& r) -> Tensor {
        return tanh(matmul(x, t(w)) + r) * r;
      },
      +[](const TensorHandle& x, const TensorHandle& w, const TensorHandle& b, const TensorHandle&) -> Tensor {
        return silu(addmm(b, x, t(w), 0.5, 2));
      },
  };
  const int before = num_threads();
  for (const auto& [m, k, n] : {std::array<int64_t, 3>{1, 40, 300}, {5, 40, 33}, {70, 130, 90}, {300, 64, 700}, {257, 1100, 130}})
    for (DType dtype : {DType::float32, DType::float64, DType::bfloat16})
      for (const Program& program : programs) {
        auto run = [&, m = m, k = k, n = n](Device& d) {
          const Tensor x = upload(d, {m, k}, numbers(m * k), dtype), w = upload(d, {n, k}, numbers(n * k, 2), dtype);
          const Tensor bias = upload(d, {n}, numbers(n, 3), dtype), rest = t(upload(d, {n, m}, numbers(m * n, 4), dtype));
          if (Fusion* fusion = fusion_of(d)) fusion->flush(), fusion->reset_statistics();
          const Tensor y = program(x, w, bias, rest);
          if (Fusion* fusion = fusion_of(d)) {
            fusion->flush();
            EXPECT_EQ(fusion->statistics().kernels, 1);
          }
          return download(y);
        };
        set_num_threads(1);
        const auto expected = run(plain());
        for (int threads : {1, 3}) {
          set_num_threads(threads);
          ASSERT_EQ(run(*f.device), expected) << m << " " << k << " " << n << " " << to_text(dtype);
        }
      }
  set_num_threads(before);
}

// What somebody may still look at is kept; what a run would overwrite too early begins another one.
TEST(Fusion, ProductsAndWhatTheyReadStayRight) {
  auto program = [](Device& d) {
    const Tensor x = upload(d, {90, 90}, numbers(8100)), w = upload(d, {90, 90}, numbers(8100, 2)),
                 r = upload(d, {90, 90}, numbers(8100, 3));
    const Tensor seen = matmul(x, w), after = relu(seen);          // both are looked at
    const Tensor turned = sigmoid(transpose(matmul(x, w), 0, 1));  // not in the order of the product
    r.add_(tanh(matmul(r, w)));                                    // in place, onto a factor
    relu_into(w, matmul(x, w) * 0.1);
    const Tensor total = sum(exp(matmul(x, r) * 0.001), Dims{1});
    const Tensor batches =
        relu(baddbmm(upload(d, {30}, numbers(30, 4)), reshape(x, Dims{2, 45, 90}), upload(d, {2, 90, 30}, numbers(5400, 5))));
    Tensor in_place = matmul(x, w);
    in_place.mul_(2).add_(1);
    const Tensor shaped = exp(reshape(matmul(x, w), Dims{9, 10, 90}) * 0.01);
    std::vector<double> all;
    for (const Tensor& y : {seen, after, turned, r, w, total, batches, in_place, shaped})
      for (double v : download(y)) all.push_back(v);
    return all;
  };
  for (int64_t limit : {int64_t(0), Fusion::kSmallLimit}) expect_same(program(*FusionDevice(limit).device), program(plain()));
}

}  // namespace
}  // namespace pyburn
