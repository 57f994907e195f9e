// Matrix products: batches, sums with a start, and linear layers.
#include "pyburn/ops/matmul.h"

#include "pyburn/backends/wgpu/product.h"
#include "pyburn/support/checked.h"
#include "pyburn/support/format.h"

namespace pyburn::wgpu {
namespace {

constexpr DTypeSet kNumbers = dtype_set({DType::float32, DType::float16, DType::bfloat16, DType::int8, DType::int16, DType::int32,
    DType::int64, DType::uint8, DType::uint16, DType::uint32, DType::uint64});

bool is_whole(int64_t extent, int64_t step) { return extent == 1 || step % 4 == 0; }
// (batch, across, k) of a matrix whose places are multiples of 4 where it is read along k, or across.
bool fits_quads(const TensorHandle& t, int along, int other) {
  return Shader::fits_quads(t) && t.strides()[along] == 1 && t.shape()[along] % 4 == 0 && is_whole(t.shape()[other], t.strides()[other]) &&
         is_whole(t.shape()[0], t.strides()[0]);
}

// The operands x (B, M, K) and y (B, K, N) of a product.
Product product_of(const TensorHandle& x, const TensorHandle& y) {
  Product p{.batches = x.shape()[0], .m = x.shape()[1], .n = y.shape()[2], .k = x.shape()[2], .type = word_of(x.dtype())};
  p.left_along_k = x.strides()[2] == 1 || x.strides()[1] != 1;
  p.right_along_k = y.strides()[1] == 1 && y.strides()[2] != 1;
  const bool left4 = fits_quads(x, p.left_along_k ? 2 : 1, p.left_along_k ? 1 : 2);
  const bool right4 = fits_quads(y, p.right_along_k ? 1 : 2, p.right_along_k ? 2 : 1);
  const std::string left = "(batch * p.x_stride0 + row * p.x_stride1 + k * p.x_stride2);";
  const std::string right = "(batch * p.y_stride0 + k * p.y_stride1 + column * p.y_stride2);";
  p.left = "return x_load" + left;
  p.right = "return y_load" + right;
  if (left4) p.left4 = "return x_load4" + left;
  if (right4) p.right4 = "return y_load4" + right;
  p.inputs = [=](Shader& s) {
    left4 ? s.input_quads("x", x) : s.input("x", x);
    right4 ? s.input_quads("y", y) : s.input("y", y);
    s.strides("x", x), s.strides("y", y);
  };
  return p;
}
constexpr const char* kPlace = "let i = (batch * p.m + row) * p.n + column; ";

void bmm(const Call& c) {
  Product p = product_of(*c.in[0], *c.in[1]);
  p.outputs = [&](Shader& s) { s.output("z", c.out[0]); };
  p.store = format("{}z_set(i, sum);", kPlace);
  run_product(c, p);
}

void bmm_plus(const Call& c) {
  const Blend& blend = c.attrs<Blend>();
  Product p = product_of(*c.in[1], *c.in[2]);
  p.outputs = [&](Shader& s) {
    s.input("start", *c.in[0]);
    s.output("z", c.out[0]);
    if (blend.is_sum()) return;
    s.number("alpha", p.type, blend.alpha), s.number("beta", p.type, blend.beta);
  };
  const std::string alpha = Shader::value_of("alpha", p.type), beta = Shader::value_of("beta", p.type);
  const char* sum = is_wide(p.type) ? "i64_add({}, {})" : "{} + {}";
  const char* product = is_wide(p.type) ? "i64_mul({}, {})" : "{} * {}";
  const std::string value = blend.is_sum() ? format(sum, "start_get(i)", "sum")
                                           : format(sum, format(product, beta, "start_get(i)"), format(product, alpha, "sum"));
  p.store = format("{}z_set(i, {});", kPlace, value);
  run_product(c, p);
}

// x (..., K) as (1, rows, K), copied if its rows have no common stride.
TensorHandle as_rows(const Call& c, const TensorHandle& x, int64_t k) {
  const int64_t rows = k == 0 ? 0 : x.numel() / k;
  if (x.rank() <= 2) {
    const int64_t step = x.rank() == 2 ? x.strides()[0] : k;
    return relayout(x, Shape{1, x.rank() == 2 ? x.shape()[0] : 1, k}, Dims{0, step, x.strides().back()}, x.layout().offset);
  }
  TensorHandle plain = x;
  if (!x.layout().is_contiguous()) {
    plain = scratch(c, x.dtype(), x.shape());
    copy(c.gpu, x, plain);
  }
  return relayout(plain, Shape{1, rows, k}, Dims{0, k, 1}, plain.layout().offset);
}

void linear(const Call& c) {
  const TensorHandle &x = *c.in[0], &weight = *c.in[1], &bias = *c.in[2], &z = c.out[0];
  const int64_t k = x.shape().back(), n = weight.rank() == 2 ? weight.shape()[0] : 1;
  const Dims& w = weight.strides();
  const TensorHandle turned = relayout(weight, Shape{1, k, n}, Dims{0, w.back(), weight.rank() == 2 ? w[0] : k}, weight.layout().offset);
  Product p = product_of(as_rows(c, x, k), turned);
  p.m = z.numel() / n;  // with no features, rows cannot be counted from x
  p.outputs = [&](Shader& s) {
    s.output("z", z);
    if (!bias.defined()) return;
    Dims strides(z.rank(), 0);
    for (int i = 1; i <= bias.rank(); ++i)
      if (bias.shape()[bias.rank() - i] > 1) strides[z.rank() - i] = bias.strides()[bias.rank() - i];
    s.input("bias", relayout(bias, z.shape(), strides, bias.layout().offset));
  };
  p.store = format("{}z_set(i, {});", kPlace, bias.defined() ? "sum + bias_get(i)" : "sum");
  run_product(c, p);
}

}  // namespace

void register_matmul(KernelTable& kernels) {
  kernels.add(op::bmm, bmm, nullptr, kNumbers);
  kernels.add(op::bmm_plus, bmm_plus, nullptr, kNumbers);
  kernels.add(op::linear, linear, nullptr, kFloats);
}

}  // namespace pyburn::wgpu
