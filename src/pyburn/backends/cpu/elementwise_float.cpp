// Elementwise kernels on float and double: compiled once per instruction set, chosen at run time.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "pyburn/backends/cpu/elementwise_float.cpp"
#include <hwy/foreach_target.h>
// After foreach_target.
#include <hwy/highway.h>

#include <cmath>

#include "pyburn/backends/cpu/cpu_backend.h"
#include "pyburn/backends/cpu/elementwise-inl.h"
#include "pyburn/backends/cpu/math-inl.h"
#include "pyburn/ops/unary.h"

HWY_BEFORE_NAMESPACE();
namespace pyburn::cpu::HWY_NAMESPACE {
namespace {

struct Neg {
  template <class T>
  T operator()(T x) const {
    return -x;
  }
};
struct Abs {
  template <class T>
  T operator()(T x) const {
    return x < T(0) ? -x : x == T(0) ? T(0) : x;
  }
};
struct Log {
  template <class T>
  T operator()(T x) const {
    return log_of(x);
  }
};
struct Sqrt {
  template <class T>
  T operator()(T x) const {
    return std::sqrt(x);
  }
};
struct Rsqrt {
  template <class T>
  T operator()(T x) const {
    return T(1) / std::sqrt(x);
  }
};
struct Tanh {
  template <class T>
  T operator()(T x) const {
    return tanh_of(x);
  }
};
struct Relu {
  template <class T>
  T operator()(T x) const {
    return x < T(0) ? T(0) : x;
  }
};  // NaN stays NaN
struct Exp {
  template <class T>
  T operator()(T x) const {
    return exp_of(x);
  }
};
struct Sigmoid {
  template <class T>
  T operator()(T x) const {
    return sigmoid_of(x);
  }
};
struct LibmSin {
  template <class T>
  T operator()(T x) const {
    return std::sin(x);
  }
};
struct LibmCos {
  template <class T>
  T operator()(T x) const {
    return std::cos(x);
  }
};
struct Sin {
  float operator()(float x) const { return sin_of(x); }
};
struct Cos {
  float operator()(float x) const { return cos_of(x); }
};
struct Pow {
  template <class T>
  T operator()(T x, T y) const {
    return y == T(2) ? x * x : std::pow(x, y);
  }
};

// Fast where all angles are moderate, else by libm.
template <class Fast, class Libm>
void angle_tile(const void* attrs, const void* const* in, void* out, int64_t n) {
  const float* x = static_cast<const float*>(in[0]);
  int32_t large = 0;
  for (int64_t i = 0; i < n; ++i) large |= x[i] > kLargestAngle || x[i] < -kLargestAngle;
  large ? unary_tile<float, Libm>(attrs, in, out, n) : unary_tile<float, Fast>(attrs, in, out, n);
}

template <class T>
void add_unary(UnaryTiles& tiles) {
  constexpr bool single = std::is_same_v<T, float>;
  tiles = {unary_tile<T, Neg>, unary_tile<T, Abs>, unary_tile<T, Exp>, unary_tile<T, Log>, unary_tile<T, Sqrt>, unary_tile<T, Rsqrt>,
      single ? angle_tile<Sin, LibmSin> : unary_tile<T, LibmSin>, single ? angle_tile<Cos, LibmCos> : unary_tile<T, LibmCos>,
      unary_tile<T, Tanh>, unary_tile<T, Sigmoid>, unary_tile<T, Relu>};
}

void make_tiles(FloatTiles& t) {
  add_unary<float>(t.unary_float);
  add_unary<double>(t.unary_double);
  t.binary_float = binary_tiles<float, Pow>();
  t.binary_double = binary_tiles<double, Pow>();
}

}  // namespace
}  // namespace pyburn::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace pyburn::cpu {

HWY_EXPORT(make_tiles);

void register_elementwise_float(KernelTable& kernels) {
  FloatTiles t;
  HWY_DYNAMIC_DISPATCH(make_tiles)(t);
  const OpInfo* unary[] = {
      &op::neg, &op::abs, &op::exp, &op::log, &op::sqrt, &op::rsqrt, &op::sin, &op::cos, &op::tanh, &op::sigmoid, &op::relu};
  for (size_t i = 0; i < std::size(unary); ++i) {
    kernels.add_tile(*unary[i], DType::float32, {t.unary_float.fn[i]});
    kernels.add_tile(*unary[i], DType::float64, {t.unary_double.fn[i]});
  }
  add_binary_tiles(kernels, DType::float32, t.binary_float);
  add_binary_tiles(kernels, DType::float64, t.binary_double);
}

}  // namespace pyburn::cpu
#endif
