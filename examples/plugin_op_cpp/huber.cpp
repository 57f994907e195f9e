// Meaning, gradient, decomposition, CPU kernel and registration of `huber`: all that an operation needs.
#include "huber.h"

#include <cmath>

#include "pyburn/backends/cpu/cpu_backend.h"
#include "pyburn/ops/generated/binary.h"
#include "pyburn/ops/generated/unary.h"
#include "pyburn/ops/rules.h"
#include "pyburn/plugin.h"

using namespace pyburn;

namespace pyburn_huber {
namespace {

Meta infer(const Huber& a, Metas in) {
  require<ValueError>(a.delta > 0, "expected a positive delta: got {}", a.delta);
  return in[0];
}

// In public operations, so that the gradient of the gradient works.
Grads grad(const Huber& a, const GradContext& c) { return {c.dy() * minimum(maximum(c.input(0), -a.delta), a.delta)}; }

// For backends that know nothing of this package.
TensorHandle decompose(const Huber& a, Inputs in) {
  const TensorHandle size = abs(*in[0]);
  const TensorHandle clipped = minimum(size, a.delta);
  return clipped * (size - clipped * 0.5);
}

// For the CPU: n contiguous elements. Strides, dtypes, threads and fusion are the framework's business.
template <class T>
void tile(const void* attrs, const void* const* in, void* out, int64_t n) {
  const T delta = T(static_cast<const Huber*>(attrs)->delta);
  const T* x = static_cast<const T*>(in[0]);
  T* y = static_cast<T*>(out);
  for (int64_t i = 0; i < n; ++i) {
    const T size = std::abs(x[i]), clipped = size < delta ? size : delta;
    y[i] = clipped * (size - clipped / 2);
  }
}

}  // namespace

constinit OpInfo huber_row = define<Huber, infer, grad, decompose>({.schema = "huber(Tensor input, float delta=1.0) -> Tensor",
    .doc = "The Huber function: x^2 / 2 where |x| < delta, else straight.",
    .kind = Kind::elementwise,
    .cast = Cast::promote_float,
    .saves = inputs});

}  // namespace pyburn_huber

// What pyburn.load_library calls.
PYBURN_PLUGIN() {
  using namespace pyburn_huber;
  OpTable::global().add({&huber_row});
  cpu::KernelTable& kernels = cpu::cpu_backend().kernels();
  kernels.add_tile(huber_row, DType::float32, {tile<float>});
  kernels.add_tile(huber_row, DType::float64, {tile<double>});
}
