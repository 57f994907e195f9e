// Functions that draw random numbers on the way: further distributions, and layers with noise.
#include "pyburn/ops/generated/random_functions.h"

#include <cmath>
#include <numbers>

#include "pyburn/ops/copy.h"
#include "pyburn/ops/generated/activation.h"
#include "pyburn/ops/generated/binary.h"
#include "pyburn/ops/generated/copy.h"
#include "pyburn/ops/generated/extremum.h"
#include "pyburn/ops/generated/fill.h"
#include "pyburn/ops/generated/movement.h"
#include "pyburn/ops/generated/random.h"
#include "pyburn/ops/generated/reduce.h"
#include "pyburn/ops/generated/scatter.h"
#include "pyburn/ops/generated/softmax.h"
#include "pyburn/ops/generated/special.h"
#include "pyburn/ops/generated/transcendental.h"
#include "pyburn/ops/generated/unary.h"
#include "pyburn/ops/random.h"
#include "pyburn/ops/rules.h"
#include "pyburn/runtime/transfer.h"

namespace pyburn {
namespace {

constinit FunctionInfo functions[] = {
    {.schema = "gumbel_softmax(Tensor logits, float tau=1, bool hard=False, float eps=1e-10, int dim=-1) -> Tensor",
        .doc = "Samples from the Gumbel-softmax distribution along dim. With hard=True, returns one-hot vectors with the gradient of the "
               "soft samples.",
        .example = "pyburn.gumbel_softmax(pyburn.zeros(2, 3), hard=True).sum(1)"},
    {.schema =
            "rrelu(Tensor input, float lower=0.125, float upper=0.3333333333333333, bool training=False, *, Generator? generator=None) -> "
            "Tensor",
        .doc = "Applies the randomised leaky ReLU: the slope of negative elements is sampled from [lower, upper) in training mode, else "
               "their mean.",
        .example = "pyburn.rrelu(pyburn.tensor([-48., 1.]))",
        .in_place = true},
    {.schema = "random_(Tensor input, int? from_=None, int? to=None, *, Generator? generator=None) -> Tensor",
        .doc = "Fills input with random integers from [from_, to), from [0, from_) if only one bound is given, or from all integers that "
               "the dtype represents exactly.",
        .example = "pyburn.empty(3).random_(10).shape"},
    {.schema = "geometric_(Tensor input, float p, *, Generator? generator=None) -> Tensor",
        .doc = "Fills input with samples from the geometric distribution with success probability p.",
        .example = "pyburn.empty(3).geometric_(0.5).shape"},
    {.schema = "cauchy_(Tensor input, float median=0, float sigma=1, *, Generator? generator=None) -> Tensor",
        .doc = "Fills input with samples from the Cauchy distribution.",
        .example = "pyburn.empty(3).cauchy_().shape"},
    {.schema = "log_normal_(Tensor input, float mean=1, float std=2, *, Generator? generator=None) -> Tensor",
        .doc = "Fills input with samples from the log-normal distribution; mean and std are those of the logarithm.",
        .example = "pyburn.empty(3).log_normal_().shape"},
    {.schema = "poisson(Tensor input, Generator? generator=None) -> Tensor",
        .doc = "Samples from Poisson distributions with the rates in input.",
        .example = "pyburn.poisson(pyburn.zeros(2))"},
    {.schema = "binomial(Tensor count, Tensor prob, Generator? generator=None) -> Tensor",
        .doc = "Samples from binomial distributions with the given counts and success probabilities.",
        .example = "pyburn.binomial(pyburn.tensor([3., 3.]), pyburn.tensor([0., 1.]))",
        .out = true},
};

TensorHandle like(const TensorHandle& x, Draw kind, double a, double b, Generator* generator) {
  return draw(x.shape(), kind, a, b, x.dtype(), &x.device(), generator);
}
// Up to where all integers are elements of the dtype, as in PyTorch.
int64_t integers_of(DType t) {
  switch (t) {
    case DType::float16:
      return (1 << 11) + 1;
    case DType::bfloat16:
      return (1 << 8) + 1;
    case DType::float32:
      return (1 << 24) + 1;
    case DType::float64:
      return (int64_t(1) << 53) + 1;
    case DType::boolean:
      return 2;
    default:
      return size_of(t) == 8 ? INT64_MAX : int64_t(1) << (size_of(t) * 8 - int(is_signed_integer(t)));
  }
}

}  // namespace

TensorHandle fn::gumbel_softmax(const TensorHandle& logits, double tau, bool hard, double, int64_t dim) {
  require<DTypeError>(is_floating(logits.dtype()), "expected a floating dtype: got {}", logits.dtype());
  const TensorHandle noise = -log(like(logits, Draw::exponential, 1, 0, nullptr));
  const TensorHandle soft = softmax((logits + noise) / tau, dim);
  if (!hard) return soft;
  const TensorHandle chosen = scatter(zeros_like(soft), dim, argmax(detach(soft), dim, true), 1.0);
  return chosen - detach(soft) + soft;
}
TensorHandle fn::rrelu(const TensorHandle& input, double lower, double upper, bool training, Generator* generator) {
  require<ValueError>(std::isfinite(lower), "rrelu: lower bound must be finite, got {}", lower);
  require<ValueError>(std::isfinite(upper), "rrelu: upper bound must be finite, got {}", upper);
  require<ValueError>(lower <= upper, "lower must not be above upper: got {} and {}", lower, upper);
  if (!training) return leaky_relu(input, (lower + upper) / 2);
  return where(le(input, 0), input * like(input, Draw::uniform, lower, upper, generator), input);
}
TensorHandle fn::random_(const TensorHandle& input, std::optional<int64_t> from, std::optional<int64_t> to, Generator* generator) {
  const int64_t low = from && to ? *from : 0, high = to ? *to : from ? *from : integers_of(input.dtype());
  return draw_integers(input.shape(), low, high, input.dtype(), nullptr, generator, input);
}
TensorHandle fn::geometric_(const TensorHandle& input, double p, Generator* generator) {
  require<ValueError>(p > 0 && p < 1, "expected p between 0 and 1: got {}", p);
  const TensorHandle waiting =
      draw(input.shape(), Draw::exponential, -std::log1p(-p), 0, DType::float32, &input.device(), generator);  // in trials
  copy_into(input, maximum(ceil(waiting), 1.0));
  return input;
}
TensorHandle fn::cauchy_(const TensorHandle& input, double median, double sigma, Generator* generator) {
  require<ValueError>(sigma > 0, "expected sigma greater than 0: got {}", sigma);
  copy_into(input, tan(like(input, Draw::uniform, -0.5, 0.5, generator) * std::numbers::pi) * sigma + median);
  return input;
}
TensorHandle fn::log_normal_(const TensorHandle& input, double mean, double std, Generator* generator) {
  require<ValueError>(std > 0, "expected std greater than 0: got {}", std);
  copy_into(input, exp(like(input, Draw::normal, mean, std, generator)));
  return input;
}

// The smallest number whose distribution function is not below a uniform draw, found by halving an interval that holds it.
TensorHandle fn::poisson(const TensorHandle& input, Generator* generator) {
  require<DTypeError>(is_floating(input.dtype()), "expected a floating dtype: got {}", input.dtype());
  const DType exact = widest_float(input.device().backend());
  const TensorHandle mean = cast(detach(input), exact);
  if (input.numel() == 0) return cast(mean, input.dtype());
  const double largest = read_number(amax(mean));
  require<ValueError>(read_number(amin(mean)) >= 0 && std::isfinite(largest), "expected means of at least 0: got {}", largest);
  const TensorHandle level = draw(input.shape(), Draw::uniform, 0, 1, exact, &input.device(), generator);
  TensorHandle low = zeros_like(mean), high = full_like(mean, std::ceil(largest + 10 * std::sqrt(largest) + 30));
  for (double width = largest + 10 * std::sqrt(largest) + 32; width > 0.5; width /= 2) {
    const TensorHandle middle = floor((low + high) * 0.5), enough = ge(igammac(middle + 1.0, mean), level);
    high = where(enough, middle, high);
    low = where(enough, low, minimum(middle + 1.0, high));
  }
  return cast(where(gt(mean, 0), high, 0.0), input.dtype());
}
TensorHandle fn::binomial(const TensorHandle& count, const TensorHandle& prob, Generator* generator) {
  require<DTypeError>(is_floating(count.dtype()) && count.dtype() == prob.dtype(),
      "expected two tensors of one floating dtype: got {} and {}", count.dtype(), prob.dtype());
  const Shape shape = broadcast_shapes(count.shape(), prob.shape());
  const TensorHandle trials = floor(expand(detach(count), shape)), p = detach(prob);
  TensorHandle successes = zeros(shape, count.dtype(), &count.device());
  if (shape.numel() == 0) return successes;
  require<ValueError>(read_number(amin(trials)) >= 0, "expected counts of at least 0: got {}", read_number(amin(trials)));
  require<ValueError>(read_number(amin(p)) >= 0 && read_number(amax(p)) <= 1, "expected probabilities between 0 and 1");
  for (double i = 0, most = read_number(amax(trials)); i < most; ++i) {
    const TensorHandle level = draw(shape, Draw::uniform, 0, 1, DType::float32, &count.device(), generator);
    successes = successes + where(gt(trials, i), cast(lt(level, p), count.dtype()), 0.0);
  }
  return successes;
}

void register_random_functions(OpTable& table) { table.add(functions); }

}  // namespace pyburn
