// Elementwise kernels on float and double: compiled once per instruction set, chosen at run time.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "pyburn/backends/cpu/elementwise_float.cpp"
#include <hwy/foreach_target.h>
// After foreach_target.
#include <hwy/highway.h>

#include <cmath>

#include "pyburn/backends/cpu/cpu_backend.h"
#include "pyburn/backends/cpu/elementwise-inl.h"
#include "pyburn/ops/unary.h"

HWY_BEFORE_NAMESPACE();
namespace pyburn::cpu::HWY_NAMESPACE {
namespace {

struct Neg { template <class T> T operator()(T x) const { return -x; } };
struct Abs { template <class T> T operator()(T x) const { return x < T(0) ? -x : x == T(0) ? T(0) : x; } };
struct Log { template <class T> T operator()(T x) const { return std::log(x); } };
struct Sqrt { template <class T> T operator()(T x) const { return std::sqrt(x); } };
struct Rsqrt { template <class T> T operator()(T x) const { return T(1) / std::sqrt(x); } };
struct Sin { template <class T> T operator()(T x) const { return std::sin(x); } };
struct Cos { template <class T> T operator()(T x) const { return std::cos(x); } };
struct Tanh { template <class T> T operator()(T x) const { return std::tanh(x); } };
struct Relu { template <class T> T operator()(T x) const { return x < T(0) ? T(0) : x; } };  // NaN stays NaN
struct Exp {
  double operator()(double x) const { return std::exp(x); }
  float operator()(float x) const { return fast_exp(x); }
};
struct Sigmoid {
  double operator()(double x) const { return 1 / (1 + std::exp(-x)); }
  float operator()(float x) const { return 1 / (1 + fast_exp(-x)); }
};
struct Pow { template <class T> T operator()(T x, T y) const { return y == T(2) ? x * x : std::pow(x, y); } };

template <class T>
void add_unary(UnaryTiles& tiles) {
  tiles = {unary_tile<T, Neg>, unary_tile<T, Abs>, unary_tile<T, Exp>, unary_tile<T, Log>, unary_tile<T, Sqrt>, unary_tile<T, Rsqrt>,
           unary_tile<T, Sin>, unary_tile<T, Cos>, unary_tile<T, Tanh>, unary_tile<T, Sigmoid>, unary_tile<T, Relu>};
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
  const OpInfo* unary[] = {&op::neg, &op::abs, &op::exp, &op::log, &op::sqrt, &op::rsqrt, &op::sin, &op::cos, &op::tanh, &op::sigmoid, &op::relu};
  for (size_t i = 0; i < std::size(unary); ++i) {
    kernels.add_tile(*unary[i], DType::float32, {t.unary_float.fn[i]});
    kernels.add_tile(*unary[i], DType::float64, {t.unary_double.fn[i]});
  }
  add_binary_tiles(kernels, DType::float32, t.binary_float);
  add_binary_tiles(kernels, DType::float64, t.binary_double);
}

}  // namespace pyburn::cpu
#endif
