// Functions of floats against libm in double precision, in units of the last place.
#include <bit>
#include <cmath>
#include <limits>
#include <numbers>

#include "cpu_test.h"

namespace pyburn::cpu {
namespace {

// Distance in representable floats between a result and the true value.
double ulps(float got, double expected) {
  const float nearest = float(expected);
  if (std::isnan(nearest)) return std::isnan(got) ? 0 : 1e30;
  if (std::isinf(nearest) || std::isinf(got) || std::isnan(got)) return got == nearest ? 0 : 1e30;
  const int exponent = std::max(std::ilogb(nearest == 0 ? std::numeric_limits<float>::min() : nearest), -126);
  return std::abs(double(got) - expected) / std::ldexp(1.0, exponent - 23);
}

// Floats over the whole number line: every `step`-th bit pattern, both signs.
std::vector<double> all_magnitudes(uint32_t step) {
  std::vector<double> v;
  for (uint32_t bits = 0; bits < 0x7f800000u; bits += step)
    for (uint32_t sign : {0u, 0x80000000u}) v.push_back(double(std::bit_cast<float>(bits | sign)));
  for (double special : {double(INFINITY), -double(INFINITY), double(NAN), 0.0, -0.0}) v.push_back(special);
  return v;
}
std::vector<double> range(double low, double high, int count) {
  std::vector<double> v;
  for (int i = 0; i <= count; ++i) v.push_back(double(float(low + (high - low) * i / count)));
  return v;
}

class Math : public CpuTest {
 protected:
  static void check(const char* name, Tensor (*fn)(const TensorHandle&), double (*expected)(double), const std::vector<double>& inputs) {
    const Tensor y = fn(from_values(Shape{int64_t(inputs.size())}, inputs));
    double worst = 0, at = 0;
    for (size_t i = 0; i < inputs.size(); ++i) {
      const double e = ulps(y.data<float>()[i], expected(inputs[i]));
      if (e > worst) worst = e, at = inputs[i];
    }
    EXPECT_LE(worst, 4.0) << name << " at " << at;
    RecordProperty(name, std::to_string(worst));
  }
};

double logistic(double x) { return x < 0 ? std::exp(x) / (1 + std::exp(x)) : 1 / (1 + std::exp(-x)); }
double normal_gate(double x) { return std::isinf(x) ? (x < 0 ? NAN : x) : x * 0.5 * std::erfc(-x / std::sqrt(2.0)); }
Tensor exact_gelu(const TensorHandle& x) { return gelu(x); }

const struct {
  const char* name;
  Tensor (*fn)(const TensorHandle&);
  double (*expected)(double);
} kFunctions[] = {
    {"exp", exp, std::exp},
    {"exp2", exp2, std::exp2},
    {"expm1", expm1, std::expm1},
    {"log", log, std::log},
    {"log2", log2, std::log2},
    {"log10", log10, std::log10},
    {"log1p", log1p, std::log1p},
    {"sin", sin, std::sin},
    {"cos", cos, std::cos},
    {"tan", tan, std::tan},
    {"asin", asin, std::asin},
    {"acos", acos, std::acos},
    {"atan", atan, std::atan},
    {"sinh", sinh, std::sinh},
    {"cosh", cosh, std::cosh},
    {"tanh", tanh, std::tanh},
    {"asinh", asinh, std::asinh},
    {"acosh", acosh, std::acosh},
    {"atanh", atanh, std::atanh},
    {"erf", erf, std::erf},
    {"erfc", erfc, std::erfc},
    {"sigmoid", sigmoid, logistic},
    {"gelu", exact_gelu, normal_gate},
};

TEST_F(Math, WholeNumberLine) {
  for (const auto& f : kFunctions) check(f.name, f.fn, f.expected, all_magnitudes(10007));
}

TEST_F(Math, OrdinaryArguments) {
  for (const auto& f : kFunctions) {
    check(f.name, f.fn, f.expected, range(-2, 2, 400000));
    check(f.name, f.fn, f.expected, range(-9, 9, 1000000));
    check(f.name, f.fn, f.expected, range(-110, 110, 1000000));
  }
}

TEST_F(Math, AnglesNearMultiplesOfHalfPi) {
  std::vector<double> angles;
  for (int n = -600000; n < 600000; n += 7) {
    const float x = float(n * 1.57079632679489662);
    for (float y : {x, std::nextafter(x, 1e9f), std::nextafter(x, -1e9f)}) angles.push_back(double(y));
  }
  check("sin", sin, std::sin, angles);
  check("cos", cos, std::cos, angles);
  check("tan", tan, std::tan, angles);
}

// --- doubles against libm in extended precision ---

// Distance in representable doubles; zeros must have the same sign.
double ulps(double got, long double expected) {
  if (std::isnan(got) || std::isnan(expected)) return std::isnan(got) && std::isnan(expected) ? 0 : 1e30;
  if (got == double(expected)) return got == 0 && std::signbit(got) != std::signbit(double(expected)) ? 1e30 : 0;
  if (std::isinf(got) || std::isinf(double(expected))) return 1e30;
  return double(std::abs(got - expected) / std::ldexp(1.0L, std::max(std::ilogb(double(expected)), -1022) - 52));
}
long double normal_gate_extended(long double x) { return std::isinf(x) && x < 0 ? NAN : x * 0.5L * std::erfc(-x / std::sqrt(2.0L)); }

TEST_F(Math, Doubles) {
  const struct {
    const char* name;
    Tensor (*fn)(const TensorHandle&);
    long double (*expected)(long double);
  } functions[] = {{"exp", exp, std::exp}, {"exp2", exp2, std::exp2}, {"expm1", expm1, std::expm1}, {"log", log, std::log},
      {"log2", log2, std::log2}, {"log10", log10, std::log10}, {"log1p", log1p, std::log1p}, {"sin", sin, std::sin}, {"cos", cos, std::cos},
      {"tan", tan, std::tan}, {"asin", asin, std::asin}, {"acos", acos, std::acos}, {"atan", atan, std::atan}, {"sinh", sinh, std::sinh},
      {"tanh", tanh, std::tanh}, {"erf", erf, std::erf}, {"erfc", erfc, std::erfc}, {"gelu", exact_gelu, normal_gate_extended}};
  std::vector<double> inputs = all_magnitudes(100003);
  for (double width : {1.0, 9.0, 40.0, 720.0, 1e5})
    for (double x : range(-width, width, 40001)) inputs.push_back(x + 1e-12 * width);
  for (int n = -24000; n < 24000; n += 5) inputs.push_back(n * (std::numbers::pi / 2));
  const Tensor x = from_values(Shape{int64_t(inputs.size())}, inputs, DType::float64);
  for (const auto& f : functions) {
    const Tensor y = f.fn(x);
    double worst = 0, at = 0;
    for (size_t i = 0; i < inputs.size(); ++i) {
      const double e = ulps(y.data<double>()[i], f.expected(inputs[i]));
      if (e > worst) worst = e, at = inputs[i];
    }
    EXPECT_LE(worst, 4.0) << f.name << " at " << at;
    RecordProperty(f.name, std::to_string(worst));
  }
}

TEST_F(Math, PowersOfTen) {
  std::vector<double> inputs;
  for (int n = -307; n <= 308; ++n) inputs.push_back(std::pow(10.0, n));
  const Tensor y = log10(from_values(Shape{int64_t(inputs.size())}, inputs, DType::float64));
  for (int n = -307; n <= 308; ++n) EXPECT_EQ(y.data<double>()[n + 307], n);
}

TEST_F(Math, PowersOfDoubles) {
  std::vector<double> base, exponent;
  for (uint64_t i = 1; i < 200000; ++i) {
    const double b = std::bit_cast<double>(i * 0x9e3779b97f4a7c15u & 0x7fffffffffffffffu);
    if (!(b < INFINITY)) continue;
    const double near_one = 1 + (double(i % 4001) - 2000) / 3000;
    for (double x : {b, near_one, -near_one}) {
      const double reach = 1100 / (std::abs(std::log2(std::abs(x))) + 1e-6), share = double(i * 40503u % 65536u) / 32768 - 1;
      base.push_back(x);
      exponent.push_back(x < 0 ? std::trunc(reach * share) : reach * share);  // results over the whole range of doubles
    }
  }
  const double special[] = {
      0.0, -0.0, 1, -1, 2, -2, 3, -3, 0.5, -0.5, 1e-310, -1e-310, 1e300, -1e300, 9007199254740991, -7, INFINITY, -INFINITY, NAN};
  for (double a : special)
    for (double b : special) base.push_back(a), exponent.push_back(b);
  const Shape shape{int64_t(base.size())};
  const Tensor z = pow(from_values(shape, base, DType::float64), from_values(shape, exponent, DType::float64));
  for (size_t i = 0; i < base.size(); ++i) {
    const double got = z.data<double>()[i];
    ASSERT_LE(ulps(got, std::pow((long double)(base[i]), (long double)(exponent[i]))), 4.0)
        << base[i] << " to " << exponent[i] << ": " << got;
  }
}

// What is computed for a number does not depend on its neighbours, of which some take a longer way.
TEST_F(Math, NeighboursDoNotCount) {
  for (const auto& f : kFunctions) {
    if (f.fn != exact_gelu && f.expected != static_cast<double (*)(double)>(std::sin)) continue;
    const std::vector<double> alone = range(-7, 7, 4095);
    std::vector<double> mixed;
    for (double x : alone) mixed.insert(mixed.end(), {x, -30, 2e5, -2e6});
    const Tensor y = f.fn(from_values(Shape{int64_t(alone.size())}, alone)), z = f.fn(from_values(Shape{int64_t(mixed.size())}, mixed));
    for (size_t i = 0; i < alone.size(); ++i) ASSERT_EQ(y.data<float>()[i], z.data<float>()[4 * i]) << f.name << " at " << alone[i];
  }
}

TEST_F(Math, GeluGradient) {
  const auto inputs = range(-12, 12, 200000);
  const Tensor x = from_values(Shape{int64_t(inputs.size())}, inputs);
  const auto slope = values(gelu_gradient(ones_like(x), x));
  for (size_t i = 0; i < inputs.size(); ++i) {
    const double v = inputs[i], density = std::exp(-0.5 * v * v) / std::sqrt(2 * M_PI);
    const double expected = 0.5 * std::erfc(-v / std::sqrt(2.0)) + v * density;
    ASSERT_NEAR(slope[i], expected, 4e-7 * std::abs(expected) + 2e-7 * density) << v;
  }
}

TEST_F(Math, LogNearOne) { check("log", log, std::log, range(0.999, 1.001, 20000)); }

// Of two operands: against libm, for ordinary pairs and for all pairs of special numbers.
void check_pairs(Tensor (*fn)(const TensorHandle&, const TensorHandle&), double (*expected)(double, double), std::vector<double> x,
    std::vector<double> y, Tensor (*make)(const std::vector<double>&)) {
  const double special[] = {0.0, -0.0, 1, -1, 2, -2, 3, -3, 0.5, -0.5, 1e-40, -1e-40, 1e38, -1e38, 16777217, -7, INFINITY, -INFINITY, NAN};
  for (double a : special)
    for (double b : special) x.push_back(double(float(a))), y.push_back(double(float(b)));
  const Tensor z = fn(make(x), make(y));
  for (size_t i = 0; i < x.size(); ++i)
    ASSERT_LE(ulps(z.data<float>()[i], expected(x[i], y[i])), 4.0) << x[i] << " and " << y[i] << ": " << z.data<float>()[i];
}

double floored_rest(double x, double y) {  // with the rounding of a float, which may give y itself
  const float rest = float(std::fmod(x, y));
  return rest != 0 && (rest < 0) != (y < 0) ? double(rest + float(y)) : double(rest);
}

TEST_F(Math, Pairs) {
  auto make = [](const std::vector<double>& v) { return from_values(Shape{int64_t(v.size())}, v); };
  std::vector<double> base, exponent;
  for (uint32_t i = 1; i < 400000; ++i) {
    const float b = std::bit_cast<float>(i * 2654435761u & 0x7fffffffu);
    if (!(b < INFINITY) || b == 0) continue;
    base.push_back(double(b));
    const double reach = 150 / (std::abs(std::log2(double(b))) + 1e-3);  // results over the whole range of floats
    exponent.push_back(double(float(reach * (double(i * 40503u % 65536u) / 32768 - 1))));
  }
  check_pairs([](const TensorHandle& x, const TensorHandle& y) { return pow(x, y); }, std::pow, base, exponent, make);
  check_pairs([](const TensorHandle& x, const TensorHandle& y) { return atan2(x, y); }, std::atan2, base, exponent, make);
  check_pairs([](const TensorHandle& x, const TensorHandle& y) { return hypot(x, y); }, std::hypot, base, exponent, make);
  check_pairs([](const TensorHandle& x, const TensorHandle& y) { return fmod(x, y); }, std::fmod, base, exponent, make);
  check_pairs([](const TensorHandle& x, const TensorHandle& y) { return remainder(x, y); }, floored_rest, base, exponent, make);
}

TEST_F(Math, SignsAndShortTensors) {
  for (int64_t n : {1, 2, 7, 17, 33}) {
    const std::vector<double> zeros(size_t(n), -0.0);
    EXPECT_TRUE(std::signbit(tanh(from_values(Shape{n}, zeros)).data<float>()[n - 1]));
    EXPECT_TRUE(std::signbit(sin(from_values(Shape{n}, zeros)).data<float>()[n - 1]));
  }
}

TEST_F(Math, DoubleIsLibm) {
  const auto inputs = range(-30, 30, 1001);
  for (const auto& f : kFunctions) {
    const auto y = values(f.fn(from_values(Shape{int64_t(inputs.size())}, inputs, DType::float64)));
    for (size_t i = 0; i < inputs.size(); ++i) {
      const double expected = f.expected(inputs[i]);
      if (std::isnan(expected)) {
        ASSERT_TRUE(std::isnan(y[i])) << f.name;
      } else {
        ASSERT_NEAR(y[i], expected, 1e-15 + std::abs(expected) * 4e-16) << f.name;
      }
    }
  }
}

}  // namespace
}  // namespace pyburn::cpu
