// log_cosh(x) = log(cosh(x)), with a kernel that uses the vector maths of pyburn's own kernels. Highway compiles the part between
// HWY_BEFORE_NAMESPACE and HWY_AFTER_NAMESPACE once per instruction set, and picks one at run time.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "log_cosh.cpp"
#include <hwy/foreach_target.h>
// After foreach_target.
#include <hwy/highway.h>

#include <cmath>

#include "pyburn/backends/cpu/math/vector-inl.h"
#include "pyburn/ops/rules.h"
#include "pyburn/plugin.h"

HWY_BEFORE_NAMESPACE();
namespace log_cosh_plugin::HWY_NAMESPACE {
namespace maths = pyburn::cpu::HWY_NAMESPACE;
namespace hn = hwy::HWY_NAMESPACE;

// |x| + log(1 + exp(-2|x|)) - log(2): cosh itself would overflow.
void tile(const void*, const void* const* in, void* out, int64_t n) {
  const auto log_cosh = [](maths::FloatVector x) HWY_ATTR {
    const maths::FloatTag d;
    const auto size = hn::Abs(x);
    const auto tail = maths::log_of(hn::Add(hn::Set(d, 1.0f), maths::exp_of(hn::Mul(size, hn::Set(d, -2.0f)))));
    return hn::Add(size, hn::Sub(tail, hn::Set(d, 0.69314718f)));
  };
  maths::map_vectors(log_cosh, static_cast<float*>(out), n, static_cast<const float*>(in[0]));
}

}  // namespace log_cosh_plugin::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
using namespace pyburn;

namespace log_cosh_plugin {
namespace {

Meta infer(const NoAttrs&, Metas in) {
  require<DTypeError>(is_floating(in[0].dtype), "expected a floating dtype: got {}", in[0].dtype);
  return in[0];
}
Grads grad(const NoAttrs&, const GradContext& c) { return {c.dy() * tanh(c.input(0))}; }
TensorHandle decompose(const NoAttrs&, Inputs in) { return abs(*in[0]) + log1p(exp(abs(*in[0]) * -2.0)) - std::log(2.0); }

constinit OpInfo row = define<NoAttrs, infer, grad, decompose>({.schema = "log_cosh(Tensor input) -> Tensor",
    .doc = "The logarithm of the hyperbolic cosine, element by element.",
    .kind = Kind::elementwise,
    .saves = inputs});

HWY_EXPORT(tile);

}  // namespace
}  // namespace log_cosh_plugin

PYBURN_PLUGIN() {
  using namespace log_cosh_plugin;
  OpTable::global().add({&row});
  cpu::cpu_backend().kernels().add_tile(row, DType::float32, {HWY_DYNAMIC_DISPATCH(tile)});
}
#endif
