// relu(x @ w + b) as one kernel written in WGSL, with its gradient, in a program without Python.
#include <cstdio>

#include "pyburn/backends/wgpu/wgsl_kernel.h"
#include "pyburn/ops/rules.h"
#include "pyburn/pyburn.h"

using namespace pyburn;

namespace {

struct LinearRelu {
  PB_FIELDS()
};

Meta infer(const LinearRelu&, Metas in) {
  const Shape &x = in[0].shape, &w = in[1].shape, &b = in[2].shape;
  require(x.rank() == 2 && w.rank() == 2 && x[1] == w[0] && b == Shape{w[1]}, "expected x (n, k), w (k, m) and b (m): got {}, {} and {}", x,
      w, b);
  return {{x[0], w[1]}, in[0].dtype};
}

// In public operations: the gradient has a gradient.
Grads grad(const LinearRelu&, const GradContext& c) {
  const TensorHandle dz = c.dy() * gt(c.output(), 0);
  return {matmul(dz, transpose(c.input(1), 0, 1)), matmul(transpose(c.input(0), 0, 1), dz), sum(dz, Dims{0})};
}

// On other devices.
TensorHandle decompose(const LinearRelu&, Inputs in) { return relu(matmul(*in[0], *in[1]) + *in[2]); }

// An invocation per result. linear_relu.py has a faster kernel, whose workgroups share what they read.
Tensors on_gpu(OpRef, Inputs in) {
  static const WgslKernel kernel{.name = "linear_relu", .inputs = {"x", "w", "b"}, .outputs = {"y"}, .body = R"(
let row = i / p.columns;
let column = i % p.columns;
var sum = b_get(column);
for (var k = 0u; k < p.depth; k++) { sum += x_get(row * p.depth + k) * w_get(k * p.columns + column); }
y_set(i, max(sum, 0.0));
)"};
  const int64_t rows = in[0]->shape()[0], depth = in[0]->shape()[1], columns = in[1]->shape()[1];
  const Meta result{{rows, columns}, in[0]->dtype()};
  return run_wgsl(kernel, in, {&result, 1}, {{"depth", depth}, {"columns", columns}}, rows * columns);
}

OpInfo row = [] {
  OpInfo r = define<LinearRelu, infer, grad, decompose>({.schema = "linear_relu(Tensor x, Tensor w, Tensor b) -> Tensor",
      .doc = "Computes relu(x @ w + b).",
      .saves = Saves(inputs | outputs)});
  r.kernel = on_gpu;
  r.serves = runs_wgsl;
  return r;
}();

Tensor linear_relu(const Tensor& x, const Tensor& w, const Tensor& b) {
  InputList in;
  in.add(x), in.add(w), in.add(b);
  return call(row, LinearRelu{}, in);
}

}  // namespace

Tensor leaf(const Dims& size) { return asking_for_gradient(randn(size), true); }

double largest(const Tensor& t) { return read_number(amax(abs(t))); }

Tensor gradient(const Tensor& loss, const Tensor& x) { return autograd::grad({loss}, {x}, {Tensor()}, true, false, false)[0]; }

int main(int count, char** arguments) try {
  start();
  OpTable::global().add({&row});
  const DeviceScope scope(device(count > 1 ? arguments[1] : "wgpu"));
  default_generator().manual_seed(0);
  const Tensor x = leaf({100, 70}), w = leaf({70, 33}), b = leaf({33});
  const Tensor ours = linear_relu(x, w, b), theirs = relu(matmul(x, w) + b);
  std::printf("largest difference of values: %.1e\n", largest(ours - theirs));
  const Tensor of_ours = gradient(sum(ours * ours), w), of_theirs = gradient(sum(theirs * theirs), w);
  std::printf("largest relative difference of gradients: %.1e\n", largest(of_ours - of_theirs) / largest(of_theirs));
  return 0;
} catch (const std::exception& e) {
  std::fprintf(stderr, "%s\n", e.what());
  return 1;
}
