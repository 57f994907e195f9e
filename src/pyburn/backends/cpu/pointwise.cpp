// Elementwise functions of three operands.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "pyburn/backends/cpu/pointwise.cpp"
#include <hwy/foreach_target.h>
// After foreach_target.
#include <hwy/highway.h>

#include <cmath>

#include "pyburn/backends/cpu/cpu_backend.h"
#include "pyburn/backends/cpu/elementwise-inl.h"
#include "pyburn/ops/pointwise.h"

HWY_BEFORE_NAMESPACE();
namespace pyburn::cpu::HWY_NAMESPACE {
namespace {

// From the nearer end, so that weights 0 and 1 give the ends exactly.
template <class T>
HWY_INLINE T between(T start, T end, T weight) {
  const T way = end - start;
  return weight < T(0.5) && weight > T(-0.5) ? start + weight * way : end - way * (T(1) - weight);
}
template <class T>
void lerp_tile(const void* attrs, const void* const* in, void* out, int64_t n) {
  const Lerp& a = *static_cast<const Lerp*>(attrs);
  const T *x = static_cast<const T*>(in[0]), *y = static_cast<const T*>(in[1]);
  T* z = static_cast<T*>(out);
  if (a.weight) {
    const T weight = a.weight->to<T>();
    for (int64_t i = 0; i < n; ++i) z[i] = between(x[i], y[i], weight);
  } else {
    const T* weight = static_cast<const T*>(in[2]);
    for (int64_t i = 0; i < n; ++i) z[i] = between(x[i], y[i], weight[i]);
  }
}

void add_pointwise(KernelTable& k) {
  k.add_tile("lerp", DType::float32, {lerp_tile<float>});
  k.add_tile("lerp", DType::float64, {lerp_tile<double>});
  tensors_with<AddProduct>(k, "addcmul", Floats(),
      []<class T>(const AddProduct& a, T) { return [value = a.value.to<T>()](T x, T y, T z) HWY_ATTR { return x + value * y * z; }; });
  tensors_with<AddProduct>(k, "addcmul", Integers(), []<class T>(const AddProduct& a, T) {
    using U = Unsigned<T>;
    return [value = U(a.value.to<T>())](T x, T y, T z) HWY_ATTR { return T(U(x) + value * U(y) * U(z)); };
  });
  tensors_with<AddProduct>(k, "addcdiv", Floats(),
      []<class T>(const AddProduct& a, T) { return [value = a.value.to<T>()](T x, T y, T z) HWY_ATTR { return x + value * (y / z); }; });
  unary_with<Clamp>(k, "clamp", AllTypes(), []<class T>(const Clamp& a, T) {
    using Limits = std::numeric_limits<T>;
    const T lowest = Limits::has_infinity ? -Limits::infinity() : Limits::lowest();
    const T highest = Limits::has_infinity ? Limits::infinity() : Limits::max();
    return [low = a.min ? a.min->to<T>() : lowest, high = a.max ? a.max->to<T>() : highest](T x) HWY_ATTR {
      const T raised = x < low ? low : x;
      return raised > high ? high : raised;
    };
  });
}

}  // namespace
}  // namespace pyburn::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace pyburn::cpu {

HWY_EXPORT(add_pointwise);
void register_pointwise(KernelTable& kernels) { HWY_DYNAMIC_DISPATCH(add_pointwise)(kernels); }

}  // namespace pyburn::cpu
#endif
