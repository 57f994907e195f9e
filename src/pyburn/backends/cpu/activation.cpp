// Activation functions of neural networks.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "pyburn/backends/cpu/activation.cpp"
#include <hwy/foreach_target.h>
// After foreach_target.
#include <hwy/highway.h>

#include <cmath>

#include "pyburn/backends/cpu/cpu_backend.h"
#include "pyburn/backends/cpu/elementwise-inl.h"
#include "pyburn/backends/cpu/math/double-inl.h"
#include "pyburn/backends/cpu/math/piecewise-inl.h"
#include "pyburn/backends/cpu/math/rare_lanes-inl.h"
#include "pyburn/backends/cpu/math/wide-inl.h"
#include "pyburn/ops/activation.h"

HWY_BEFORE_NAMESPACE();
namespace pyburn::cpu::HWY_NAMESPACE {
namespace {

HWY_INLINE double log1p_in_double(float, double x) { return wide_log1p(x); }
HWY_INLINE double log1p_in_double(double, double x) { return std::log1p(x); }
HWY_INLINE double exp_in_double(float x) {
  const double e = wide_exp(x);
  return x < -200 ? 0 : e;
}
HWY_INLINE double exp_in_double(double x) { return std::exp(x); }

constexpr double kGeluSlope = 2 * std::numbers::sqrt2 * std::numbers::inv_sqrtpi, kGeluCubic = 0.044715;  // as in ops/activation.cpp
constexpr double kDensity = std::numbers::inv_sqrtpi / std::numbers::sqrt2;                               // of the normal distribution at 0

// The upper tail of the normal distribution at |x|, in pieces that gelu puts together with few roundings: weight * (1 + growth) *
// scale * rest, where (1 + growth) * scale * rest is exp(-x^2 / 2). The weight is t P(t) with t = 1 / (1 + 0.3125 |x|); P is a
// minimax fit, good to 1e-8. What x^2 and t lose in rounding goes into the growth, or the exponential would make many units of it.
struct NormalTail {
  float size, weight, growth, scale, rest;
};
HWY_INLINE NormalTail normal_tail(float x) {
  constexpr float step = 0.3125f, sensitivity = 1.5536f;  // of the weight to t: 1 + sensitivity * t
  const float given = std::abs(x), a = given < 15.0f ? given : 15.0f;
  const float d = 1.0f + step * a, t = 1.0f / d, t_lost = std::fma(-t, d, 1.0f) - t * (step * a - (d - 1.0f));
  const float p = polynomial(t, 0.1246652194f, 0.1247531551f, 0.1118597112f, 0.09020110681f, 0.05522190682f, -0.001957725898f,
      0.07360796545f, -0.1505902847f, 0.09122700604f, -0.01898806537f);
  const float square = a * a, square_lost = std::fma(a, a, -square);
  const ExpParts e = exp_parts(-0.5f * square);
  const float lost = t_lost * (1.0f + sensitivity * t) - 0.5f * square_lost;
  return {a, p * t, lost * (1.0f + e.growth) + e.growth, e.scale, e.rest};
}

HWY_INLINE double gelu_of(double x) { return gelu_by_libm(x); }
HWY_MAYBE_UNUSED HWY_INLINE float gelu_of(float x) {
  const NormalTail n = normal_tail(x);
  const float k = n.weight * n.size;
  return (x > 0 ? x : x * 0.0f) - (k * n.growth + k) * n.scale * n.rest;
}
// Its derivative: the distribution, and x times the density.
HWY_INLINE double gelu_slope(double x) { return 0.5 * std::erfc(x * (-std::numbers::sqrt2 / 2)) + x * kDensity * std::exp(-0.5 * x * x); }
HWY_MAYBE_UNUSED HWY_INLINE float gelu_slope(float x) {
  const NormalTail n = normal_tail(x);
  const float bell = (1.0f + n.growth) * n.scale * n.rest, tail = n.weight * bell;
  return (x < 0 ? tail : 1.0f - tail) + x * bell * float(kDensity);
}

// The same of vectors, where multiplications and additions are fused; without, the rounding that is made good here is another.
#if HWY_TARGET <= HWY_AVX2 || HWY_ARCH_ARM_A64
constexpr float kLastTail = 14.4f;
struct NormalTails {
  FloatVector size, weight, growth, n;  // (1 + growth) * 2^n
  hn::Mask<FloatTag> counts;            // further out the tail is 0, and numbers on the way there would be subnormal, which takes long
};
HWY_INLINE NormalTails normal_tails(FloatVector x) {
  const FloatTag tag;
  const auto one = hn::Set(tag, 1.0f), half = hn::Set(tag, 0.5f), step = hn::Set(tag, 0.3125f), sensitivity = hn::Set(tag, 1.5536f);
  const auto counts = hn::Lt(hn::Abs(x), hn::Set(tag, kLastTail));
  const auto a = hn::IfThenElseZero(counts, hn::Abs(x));
  const auto d = hn::MulAdd(step, a, one), t = hn::Div(one, d);
  const auto d_lost = hn::MulSub(step, a, hn::Sub(d, one)), t_lost = hn::NegMulAdd(t, d_lost, hn::NegMulAdd(t, d, one));
  const auto p = polynomial_of(t, 0.1246652194f, 0.1247531551f, 0.1118597112f, 0.09020110681f, 0.05522190682f, -0.001957725898f,
      0.07360796545f, -0.1505902847f, 0.09122700604f, -0.01898806537f);
  const auto square = hn::Mul(a, a), square_lost = hn::MulSub(a, a, square);
  const ExpVectors e = exp_vectors_between(hn::Neg(hn::Mul(half, square)));
  const auto lost = hn::NegMulAdd(half, square_lost, hn::Mul(t_lost, hn::MulAdd(sensitivity, t, one)));
  return {a, hn::Mul(p, t), hn::Add(hn::MulAdd(lost, e.growth, lost), e.growth), e.n, counts};
}
// y * 2^n, also where that is subnormal, without an operation that reads or makes such a number: processors call for help with those. The
// bits of a subnormal number count units of 2^-149; those of others have the exponent above.
HWY_INLINE FloatVector scaled_far_down(FloatVector y, FloatVector n) {
  const FloatTag d;
  const hn::RebindToSigned<FloatTag> whole;
  constexpr int held_back = 100;
  const auto part = hn::Mul(y, power_of_two(hn::Add(n, hn::Set(d, float(held_back)))));
  const auto normal = hn::Sub(hn::BitCast(whole, part), hn::Set(whole, held_back << 23));
  const auto units = hn::NearestInt(hn::Mul(part, hn::Set(d, 0x1p49f)));
  return hn::BitCast(d, hn::IfThenElse(hn::RebindMask(whole, hn::Lt(part, hn::Set(d, 0x1p-26f))), units, normal));
}
HWY_NOINLINE FloatVector gelu_of(FloatVector x) {
  const FloatTag tag;
  const NormalTails n = normal_tails(x);
  const auto k = hn::Mul(n.weight, n.size), zero = hn::Zero(tag);
  const auto positive = hn::Gt(x, zero);
  const auto tail = hn::IfThenElseZero(n.counts, scaled_far_down(hn::MulAdd(k, n.growth, k), n.n));
  const auto below = hn::Or(tail, hn::Mul(x, zero));  // with the sign of x; NaN from minus infinity on
  return hn::IfThenElse(positive, hn::Sub(x, hn::IfThenElseZero(positive, tail)), below);
}
HWY_NOINLINE FloatVector gelu_slope(FloatVector x) {
  const FloatTag tag;
  const NormalTails n = normal_tails(x);
  const auto one = hn::Set(tag, 1.0f), above = hn::MulSub(n.size, hn::Set(tag, float(kDensity)), n.weight);
  const auto size = hn::IfThenElseZero(n.counts, scaled_far_down(hn::Abs(hn::MulAdd(above, n.growth, above)), n.n));
  const auto part = hn::CopySign(size, above), zero = hn::Zero(tag);
  const auto positive = hn::Ge(x, zero);
  const auto slope = hn::IfThenElse(positive, hn::Add(one, hn::IfThenElseZero(positive, part)), hn::Neg(part));
  const auto beyond = hn::Mul(x, zero);  // NaN from infinity on
  return hn::IfThenElse(hn::IsNaN(beyond), beyond, slope);
}
#endif

#if PYBURN_PIECEWISE
// Where polynomials do: not far out on the negative side, where the result falls below them; far out on the positive side the tail
// does not count any more.
HWY_INLINE auto near_centre(FloatVector x) { return hn::Gt(x, hn::Set(FloatTag(), -float(Piecewise::kEnd))); }
// Further out on that side nothing is left.
HWY_INLINE auto gone(FloatVector x) {
  const FloatTag d;
  return hn::And(hn::Le(x, hn::Set(d, -kLastTail)), hn::Gt(x, hn::Set(d, -std::numeric_limits<float>::infinity())));
}
HWY_INLINE FloatVector size_near_centre(FloatVector x) { return hn::Min(hn::Abs(x), hn::Set(FloatTag(), float(Piecewise::kEnd))); }

void gelu_floats(const float* x, float* y, int64_t n) {
  static const Piecewise tail([](double a) { return 0.5 * std::erfc(a * (std::numbers::sqrt2 / 2)); });
  const FloatTag d;
  map_vectors_with_rare(
      [&](FloatVector v) HWY_ATTR {
        const auto a = size_near_centre(v), linear = hn::Max(hn::Set(d, -0.0f), v);  // of two zeros the second, which keeps its sign
        return hn::NegMulAdd(a, tail(a), linear);
      },
      [](auto v) HWY_ATTR { return near_centre(v); }, [](auto) HWY_ATTR { return hn::Set(FloatTag(), -0.0f); },
      [](auto v) HWY_ATTR { return gone(v); }, [](auto v) HWY_ATTR { return gelu_of(v); }, y, n, x);
}
void gelu_gradient_floats(const float* dy, const float* x, float* dx, int64_t n) {
  static const Piecewise below(
      [](double a) { return 0.5 * std::erfc(a * (std::numbers::sqrt2 / 2)) - a * kDensity * std::exp(-0.5 * a * a); });
  const FloatTag d;
  map_vectors_with_rare(
      [&](FloatVector v, FloatVector given) HWY_ATTR {
        const auto left = below(size_near_centre(v));
        return hn::Mul(given, hn::IfThenElse(hn::Lt(v, hn::Zero(d)), left, hn::Sub(hn::Set(d, 1.0f), left)));
      },
      [](auto v) HWY_ATTR { return near_centre(v); }, [](auto, auto given) HWY_ATTR { return hn::Mul(given, hn::Zero(FloatTag())); },
      [](auto v) HWY_ATTR { return gone(v); }, [](auto v, auto given) HWY_ATTR { return hn::Mul(given, gelu_slope(v)); }, dx, n, x, dy);
}
#elif HWY_ARCH_ARM_A64
void gelu_floats(const float* x, float* y, int64_t n) {
  map_vectors([](auto v) HWY_ATTR { return gelu_of(v); }, y, n, x);
}
void gelu_gradient_floats(const float* dy, const float* x, float* dx, int64_t n) {
  map_vectors([](auto d, auto v) HWY_ATTR { return hn::Mul(d, gelu_slope(v)); }, dx, n, dy, x);
}
#else
void gelu_floats(const float* x, float* y, int64_t n) {
  for (int64_t i = 0; i < n; ++i) y[i] = gelu_of(x[i]);
}
void gelu_gradient_floats(const float* dy, const float* x, float* dx, int64_t n) {
  for (int64_t i = 0; i < n; ++i) dx[i] = dy[i] * gelu_slope(x[i]);
}
#endif

#if HWY_NATIVE_FMA
struct GeluGradientOfDoubles {
  static HWY_INLINE auto usual(DoubleVector, DoubleVector x) { return is_between(x, -kFarthestGelu, kLargestDouble); }
  static HWY_INLINE DoubleVector vector(DoubleVector dy, DoubleVector x) { return hn::Mul(dy, gelu_slope_of_usual(x)); }
  static double libm(double dy, double x) { return dy * gelu_slope(x); }
};
void gelu_doubles(const double* x, double* y, int64_t n) { map_double_vectors<GeluOfDoubles>(y, n, operand(x)); }
void gelu_gradient_doubles(const double* dy, const double* x, double* dx, int64_t n) {
  map_double_vectors<GeluGradientOfDoubles>(dx, n, operand(dy), operand(x));
}
#else
void gelu_doubles(const double* x, double* y, int64_t n) {
  for (int64_t i = 0; i < n; ++i) y[i] = gelu_of(x[i]);
}
void gelu_gradient_doubles(const double* dy, const double* x, double* dx, int64_t n) {
  for (int64_t i = 0; i < n; ++i) dx[i] = dy[i] * gelu_slope(x[i]);
}
#endif

// The gate of the tanh approximation: logistic(slope (x + cubic x^3)).
HWY_INLINE double tanh_gate(double x) { return 1 / (1 + std::exp(-kGeluSlope * (x + kGeluCubic * x * x * x))); }
HWY_INLINE float tanh_gate(float x) {
  constexpr float slope = float(kGeluSlope), cubic = float(kGeluSlope * kGeluCubic);
  constexpr float slope_lost = float(kGeluSlope - slope), cubic_lost = float(kGeluSlope * kGeluCubic - cubic);
  const float size = std::abs(x), a = size < 20.0f ? size : 20.0f, square = a * a, square_lost = std::fma(a, a, -square);
  const float bent = cubic * square, bent_lost = std::fma(cubic, square, -bent) + (cubic * square_lost + cubic_lost * square);
  const float factor = slope + bent, factor_lost = (bent - (factor - slope)) + (bent_lost + slope_lost);
  const float e = a * factor, e_lost = std::fma(a, factor, -e) + a * factor_lost;
  const float shut = exp_of(-e) * (1.0f - e_lost);
  return (x < 0 ? shut : 1.0f) / (1.0f + shut);
}

template <class T>
HWY_INLINE T nan_through(T x, double y) {  // wide functions make numbers of NaN
  return x != x ? x : T(y);
}

// Two functions in one operation: the tile chooses.
template <class T>
void gelu_tile(const void* attrs, const void* const* in, void* out, int64_t n) {
  const T* x = static_cast<const T*>(in[0]);
  T* y = static_cast<T*>(out);
  if (static_cast<const Gelu*>(attrs)->tanh)
    for (int64_t i = 0; i < n; ++i) y[i] = x[i] * tanh_gate(x[i]);
  else if constexpr (std::is_same_v<T, float>) gelu_floats(x, y, n);
  else gelu_doubles(x, y, n);
}
template <class T>
void gelu_gradient_tile(const void* attrs, const void* const* in, void* out, int64_t n) {
  const T *dy = static_cast<const T*>(in[0]), *x = static_cast<const T*>(in[1]);
  T* dx = static_cast<T*>(out);
  if (static_cast<const Gelu*>(attrs)->tanh) {
    for (int64_t i = 0; i < n; ++i) {
      const T v = x[i], s = tanh_gate(v);
      dx[i] = dy[i] * (s + v * s * (1 - s) * T(kGeluSlope) * (1 + T(3 * kGeluCubic) * v * v));
    }
  } else if constexpr (std::is_same_v<T, float>) {
    gelu_gradient_floats(dy, x, dx, n);
  } else {
    gelu_gradient_doubles(dy, x, dx, n);
  }
}
template <class... T>
void gelu(KernelTable& k, Types<T...>) {
  (k.add_tile("gelu", dtype_of<T>, {.fn = gelu_tile<T>}), ...);
  (k.add_tile("gelu_gradient", dtype_of<T>, {.fn = gelu_gradient_tile<T>}), ...);
}

HWY_INLINE double silu_of(double x) { return x * sigmoid_of(x); }
HWY_INLINE FloatVector silu_of(FloatVector x) { return hn::Mul(x, sigmoid_of(x)); }

// log(1 + exp(-|x|)): what 1 + e loses in rounding is added to the logarithm.
HWY_INLINE FloatVector log1p_of_decay(FloatVector x) {
  const auto one = hn::Set(FloatTag(), 1.0f), e = exp_of(hn::Neg(hn::Abs(x))), u = hn::Add(one, e);
  return hn::Add(log_of_usual(u), hn::Div(hn::Sub(e, hn::Sub(u, one)), u));
}
HWY_INLINE double logsigmoid_of(double x) { return (x < 0 ? x : 0.0) - std::log1p(std::exp(x < 0 ? x : -x)); }
HWY_INLINE FloatVector logsigmoid_of(FloatVector x) { return hn::Sub(hn::Min(hn::Zero(FloatTag()), x), log1p_of_decay(x)); }

template <class T>
void softplus_tile(const void* attrs, const void* const* in, void* out, int64_t n) {
  const Softplus& a = *static_cast<const Softplus*>(attrs);
  const T* x = static_cast<const T*>(in[0]);
  T* y = static_cast<T*>(out);
  const double beta = a.beta, threshold = a.threshold;
  if constexpr (std::is_same_v<T, float>) {
    if (beta == 1) {
      const FloatTag d;
      const auto last = hn::Set(d, float(threshold));
      return map_vectors([&](FloatVector v)
                             HWY_ATTR { return hn::IfThenElse(hn::Gt(v, last), v, hn::Add(hn::Max(hn::Zero(d), v), log1p_of_decay(v))); },
          y, n, x);
    }
  }
  for (int64_t i = 0; i < n; ++i) {
    const double z = x[i] * beta, small = log1p_in_double(x[i], exp_in_double(T(z < 0 ? z : -z)));
    const T above = nan_through(x[i], ((z < 0 ? 0 : z) + small) / beta);
    y[i] = z > threshold ? x[i] : above;
  }
}

void add_activation(KernelTable& k) {
  unary(k, "relu", AllTypes(), []<class T>(T x) HWY_ATTR { return x < T(0) ? T(0) : x; });  // NaN stays NaN
  by_vectors(k, "sigmoid", [](auto x) HWY_ATTR { return sigmoid_of(x); });
#if HWY_NATIVE_FMA
  of_doubles<SigmoidOfDoubles>(k, "sigmoid");
#endif
  gelu(k, Floats());
  by_vectors(k, "silu", [](auto x) HWY_ATTR { return silu_of(x); });
  tensors_with<NoAttrs>(k, "silu_gradient", Floats(), []<class T>(const NoAttrs&, T) {
    return [](T dy, T x) HWY_ATTR {
      const T s = sigmoid_of(x);
      return dy * (s * (x * (T(1) - s) + T(1)));
    };
  });
  unary(k, "mish", Floats(), []<class T>(T x) HWY_ATTR {  // tanh(log(1 + e)) = (e^2 + 2 e) / (e^2 + 2 e + 2)
    const double e = exp_in_double(x < T(40) ? x : T(40)), p = e * (e + 2);
    return nan_through(x, x * (p / (p + 2)));
  });
  k.add_tile("softplus", DType::float32, {softplus_tile<float>});
  k.add_tile("softplus", DType::float64, {softplus_tile<double>});
  by_vectors(k, "logsigmoid", [](auto x) HWY_ATTR { return logsigmoid_of(x); });
  unary_with<Hardtanh>(k, "hardtanh", AllTypes(), []<class T>(const Hardtanh& a, T) {
    return [low = a.min.to<T>(), high = a.max.to<T>()](T x) HWY_ATTR { return x < low ? low : x > high ? high : x; };
  });
  unary(k, "hardswish", Floats(), []<class T>(T x) HWY_ATTR {
    const T gate = x + T(3);
    return x * (gate < T(0) ? T(0) : gate > T(6) ? T(6) : gate) / T(6);
  });
  unary(k, "hardsigmoid", Floats(), []<class T>(T x) HWY_ATTR {
    const T gate = x + T(3);
    return (gate < T(0) ? T(0) : gate > T(6) ? T(6) : gate) / T(6);
  });
  unary_with<LeakyRelu>(k, "leaky_relu", Floats(),
      []<class T>(const LeakyRelu& a, T) { return [slope = T(a.negative_slope)](T x) HWY_ATTR { return x > T(0) ? x : x * slope; }; });
  unary_with<Elu>(k, "elu", Floats(), []<class T>(const Elu& a, T) {
    return [scale = T(a.scale), low = T(a.alpha * a.scale), inner = T(a.input_scale)](T x)
               HWY_ATTR { return x > T(0) ? x * scale : expm1_of(x * inner) * low; };
  });
  unary_with<Shrink>(k, "softshrink", Floats(), []<class T>(const Shrink& a, T) {
    return [by = T(a.lambd)](T x) HWY_ATTR { return x > by ? x - by : x < -by ? x + by : x * T(0); };  // NaN stays NaN
  });
  unary_with<Shrink>(k, "hardshrink", Floats(),
      []<class T>(const Shrink& a, T) { return [by = T(a.lambd)](T x) HWY_ATTR { return x >= -by && x <= by ? T(0) : x; }; });
  unary_with<Threshold>(k, "threshold", AllTypes(), []<class T>(const Threshold& a, T) {
    return [threshold = a.threshold.to<T>(), value = a.value.to<T>()](T x) HWY_ATTR { return x <= threshold ? value : x; };
  });
}

}  // namespace
}  // namespace pyburn::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace pyburn::cpu {

HWY_EXPORT(add_activation);
void register_activation(KernelTable& kernels) { HWY_DYNAMIC_DISPATCH(add_activation)(kernels); }

}  // namespace pyburn::cpu
#endif
