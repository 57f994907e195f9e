// Random numbers. The seed and the counter travel with the operation.
#include "pyburn/ops/random.h"

#include "pyburn/ops/copy.h"
#include "pyburn/ops/generated/binary.h"
#include "pyburn/ops/generated/copy.h"
#include "pyburn/ops/generated/logic.h"
#include "pyburn/ops/generated/movement.h"
#include "pyburn/ops/generated/random.h"
#include "pyburn/ops/generated/reduce.h"
#include "pyburn/ops/generated/scan.h"
#include "pyburn/ops/generated/search.h"
#include "pyburn/ops/generated/sort.h"
#include "pyburn/ops/rules.h"
#include "pyburn/runtime/transfer.h"
#include "pyburn/support/checked.h"
#include "pyburn/support/fault.h"

namespace pyburn {
namespace {

Meta infer(const Random& a, Metas) {
  checked_numel(a.size);
  require<ValueError>(a.draw <= Draw::permutation, "unknown distribution: got {}", int64_t(a.draw));
  if (a.draw == Draw::uniform || a.draw == Draw::normal || a.draw == Draw::exponential)
    require<DTypeError>(is_floating(a.dtype), "expected a floating dtype: got {}", a.dtype);
  if (a.draw == Draw::normal) require<ValueError>(a.b >= 0, "expected a non-negative standard deviation: got {}", a.b);
  if (a.draw == Draw::bernoulli) require<ValueError>(a.a >= 0 && a.a <= 1, "expected a probability between 0 and 1: got {}", a.a);
  if (a.draw == Draw::integer) require<ValueError>(a.low < a.high, "from must be less than to: got {} and {}", a.low, a.high);
  if (a.draw == Draw::permutation) {
    require<DTypeError>(a.dtype == DType::int64, "expected int64: got {}", a.dtype);
    require<ValueError>(a.size.rank() == 1 && a.size[0] <= int64_t(1) << 32, "expected a size of at most 2^32: got {}", a.size);
  }
  if (a.draw == Draw::exponential) require<ValueError>(a.a > 0, "expected a rate greater than 0: got {}", a.a);
  return {a.size, a.dtype};
}

}  // namespace

namespace op {
constinit OpInfo random = define<Random, infer>({.schema = "random(int[] size) -> Tensor",
    .doc = "Random numbers from a seed and a counter; rand, randn, randint and the in-place draws are made of it.",
    .kind = Kind::random,
    .no_grad = "has no tensor inputs"});
}  // namespace op

static TensorHandle draw(Random attrs, Device* device, Generator* generator, const TensorHandle& into) {
  const int64_t words = Checked(checked_numel(attrs.size)) * (attrs.takes_two_words() ? 2 : 1);
  const RandomState s = (generator ? *generator : default_generator()).reserve(words);
  attrs.seed = int64_t(s.seed), attrs.offset = int64_t(s.offset);
  TensorHandle out = into;
  dispatch({&op::random, &attrs}, {}, {&out, 1}, into.defined() ? &into.device() : device);
  return out;
}
TensorHandle draw(
    const Dims& size, Draw kind, double a, double b, DType dtype, Device* device, Generator* generator, const TensorHandle& into) {
  return draw({.size = size, .draw = kind, .a = a, .b = b, .dtype = dtype}, device, generator, into);
}
TensorHandle draw_integers(
    const Dims& size, int64_t low, int64_t high, DType dtype, Device* device, Generator* generator, const TensorHandle& into) {
  if (planted_fault == Fault::rounded_bounds) low = int64_t(double(low)), high = int64_t(double(high));
  return draw({.size = size, .draw = Draw::integer, .dtype = dtype, .low = low, .high = high}, device, generator, into);
}

namespace {
constinit FunctionInfo functions[] = {
    {.schema = "rand(int[] size, *, DType? dtype=None, Device? device=None, Generator? generator=None, bool requires_grad=False) -> Tensor",
        .doc = "Creates a tensor of samples from the uniform distribution on [0, 1).",
        .example = "pyburn.rand(2, 3).shape"},
    {.schema =
            "randn(int[] size, *, DType? dtype=None, Device? device=None, Generator? generator=None, bool requires_grad=False) -> Tensor",
        .doc = "Creates a tensor of samples from the standard normal distribution.",
        .example = "pyburn.randn(2, 3).shape"},
    {.schema = "randint(int low, int? high, int[] size, *, DType? dtype=None, Device? device=None, Generator? generator=None, bool "
               "requires_grad=False) -> Tensor",
        .doc = "Creates a tensor of random integers from [low, high).",
        .example = "pyburn.randint(0, 10, (3,)).shape"},
    {.schema = "randint.below(int high, int[] size, *, DType? dtype=None, Device? device=None, Generator? generator=None, bool "
               "requires_grad=False) -> Tensor",
        .doc = "Creates a tensor of random integers from [0, high).",
        .example = "pyburn.randint(10, (3,)).shape"},
    {.schema = "rand_like(Tensor input, *, DType? dtype=None, Device? device=None, Generator? generator=None, bool requires_grad=False) -> "
               "Tensor",
        .doc = "Samples from the uniform distribution on [0, 1) with the shape, dtype and device of input.",
        .example = "pyburn.rand_like(pyburn.ones(3)).shape"},
    {.schema = "randn_like(Tensor input, *, DType? dtype=None, Device? device=None, Generator? generator=None, bool requires_grad=False) "
               "-> Tensor",
        .doc = "Samples from the standard normal distribution with the shape, dtype and device of input.",
        .example = "pyburn.randn_like(pyburn.ones(3)).shape"},
    {.schema = "randint_like(Tensor input, int low, int high, *, DType? dtype=None, Device? device=None, Generator? generator=None, bool "
               "requires_grad=False) -> Tensor",
        .doc = "Samples integers from [low, high) with the shape, dtype and device of input.",
        .example = "pyburn.randint_like(pyburn.ones(3), 5, 10).shape"},
    {.schema = "randint_like.below(Tensor input, int high, *, DType? dtype=None, Device? device=None, Generator? generator=None, bool "
               "requires_grad=False) -> Tensor",
        .doc = "Samples integers from [0, high) with the shape, dtype and device of input.",
        .example = "pyburn.randint_like(pyburn.ones(3), 10).shape"},
    {.schema = "randperm(int n, *, DType? dtype=None, Device? device=None, Generator? generator=None) -> Tensor",
        .doc = "Returns a random permutation of the integers from 0 to n - 1.",
        .example = "pyburn.randperm(4).sort().values"},
    {.schema = "normal(Tensor mean, float std=1.0, *, Generator? generator=None) -> Tensor",
        .doc = "Samples from normal distributions with the given means and one standard deviation.",
        .example = "pyburn.normal(pyburn.zeros(3), 2.).shape"},
    {.schema = "normal.each_deviation(float mean, Tensor std, *, Generator? generator=None) -> Tensor",
        .doc = "Samples from normal distributions with one mean and the given standard deviations.",
        .example = "pyburn.normal(0., pyburn.ones(3)).shape"},
    {.schema = "normal.each(Tensor mean, Tensor std, *, Generator? generator=None) -> Tensor",
        .doc = "Samples from normal distributions with the given means and standard deviations.",
        .example = "pyburn.normal(pyburn.zeros(3), pyburn.ones(3)).shape"},
    {.schema = "normal.size(float mean, float std, int[] size, *, DType? dtype=None, Device? device=None, Generator? generator=None, bool "
               "requires_grad=False) -> Tensor",
        .doc = "Samples from a normal distribution with the given mean and standard deviation.",
        .example = "pyburn.normal(0., 1., (3,)).shape"},
    {.schema = "bernoulli(Tensor input, *, Generator? generator=None) -> Tensor",
        .doc = "Samples 0 or 1 element-wise; input holds the probabilities of 1.",
        .example = "pyburn.bernoulli(pyburn.tensor([0., 1.]))"},
    {.schema = "bernoulli.p(Tensor input, float p, *, Generator? generator=None) -> Tensor",
        .doc = "Samples 0 or 1 with probability p of 1, with the shape, dtype and device of input.",
        .example = "pyburn.bernoulli(pyburn.empty(3), 1.)"},
    {.schema = "multinomial(Tensor input, int num_samples, bool replacement=False, *, Generator? generator=None) -> Tensor",
        .doc = "Samples num_samples indices from each row of input, which holds unnormalised probabilities.",
        .example = "pyburn.multinomial(pyburn.tensor([0., 1.]), 1)"},
    {.schema = "uniform_(Tensor input, float from_=0, float to=1, *, Generator? generator=None) -> Tensor",
        .doc = "Fills input with samples from the uniform distribution on [from_, to).",
        .example = "pyburn.empty(3).uniform_(-1, 1).shape"},
    {.schema = "normal_(Tensor input, float mean=0, float std=1, *, Generator? generator=None) -> Tensor",
        .doc = "Fills input with samples from a normal distribution.",
        .example = "pyburn.empty(3).normal_(0, 2).shape"},
    {.schema = "bernoulli_(Tensor input, float p=0.5, *, Generator? generator=None) -> Tensor",
        .doc = "Fills input with samples of 0 or 1 with probability p of 1.",
        .example = "pyburn.empty(3).bernoulli_(0.25).shape"},
    {.schema = "bernoulli_.each(Tensor input, Tensor p, *, Generator? generator=None) -> Tensor",
        .doc = "Fills input with samples of 0 or 1; p holds the element-wise probabilities of 1.",
        .example = "pyburn.empty(2).bernoulli_(pyburn.tensor([0., 1.]))"},
    {.schema = "exponential_(Tensor input, float lambd=1, *, Generator? generator=None) -> Tensor",
        .doc = "Fills input with samples from the exponential distribution with rate lambd.",
        .example = "pyburn.empty(3).exponential_(2.).shape"},
};

TensorHandle like(
    const TensorHandle& x, Draw kind, double a, double b, Generator* generator, std::optional<DType> dtype = {}, Device* device = nullptr) {
  return draw(x.shape(), kind, a, b, dtype.value_or(x.dtype()), device ? device : &x.device(), generator);
}
}  // namespace

TensorHandle fn::rand(const Dims& size, std::optional<DType> dtype, Device* device, Generator* generator, bool requires_grad) {
  return asking_for_gradient(draw(size, Draw::uniform, 0, 1, dtype.value_or(default_dtype()), device, generator), requires_grad);
}
TensorHandle fn::randn(const Dims& size, std::optional<DType> dtype, Device* device, Generator* generator, bool requires_grad) {
  return asking_for_gradient(draw(size, Draw::normal, 0, 1, dtype.value_or(default_dtype()), device, generator), requires_grad);
}
TensorHandle fn::randint(int64_t low, std::optional<int64_t> high, const Dims& size, std::optional<DType> dtype, Device* device,
    Generator* generator, bool requires_grad) {
  const int64_t first = high ? low : 0, end = high.value_or(low);
  require<ValueError>(first < end, "low must be less than high: got {} and {}", first, end);
  return asking_for_gradient(draw_integers(size, first, end, dtype.value_or(DType::int64), device, generator), requires_grad);
}
TensorHandle fn::randint(
    int64_t high, const Dims& size, std::optional<DType> dtype, Device* device, Generator* generator, bool requires_grad) {
  return randint(0, std::optional<int64_t>(high), size, dtype, device, generator, requires_grad);
}
TensorHandle fn::rand_like(
    const TensorHandle& input, std::optional<DType> dtype, Device* device, Generator* generator, bool requires_grad) {
  return asking_for_gradient(like(input, Draw::uniform, 0, 1, generator, dtype, device), requires_grad);
}
TensorHandle fn::randn_like(
    const TensorHandle& input, std::optional<DType> dtype, Device* device, Generator* generator, bool requires_grad) {
  return asking_for_gradient(like(input, Draw::normal, 0, 1, generator, dtype, device), requires_grad);
}
TensorHandle fn::randint_like(const TensorHandle& input, int64_t low, int64_t high, std::optional<DType> dtype, Device* device,
    Generator* generator, bool requires_grad) {
  require<ValueError>(low < high, "low must be less than high: got {} and {}", low, high);
  return asking_for_gradient(
      draw_integers(input.shape(), low, high, dtype.value_or(input.dtype()), device ? device : &input.device(), generator), requires_grad);
}
TensorHandle fn::randint_like(
    const TensorHandle& input, int64_t high, std::optional<DType> dtype, Device* device, Generator* generator, bool requires_grad) {
  return randint_like(input, 0, high, dtype, device, generator, requires_grad);
}
TensorHandle fn::randperm(int64_t n, std::optional<DType> dtype, Device* device, Generator* generator) {
  require<ValueError>(n >= 0, "expected n of at least 0: got {}", n);
  const TensorHandle order = draw(Dims{n}, Draw::permutation, 0, 1, DType::int64, device, generator);
  return dtype && *dtype != DType::int64 ? cast(order, *dtype) : order;
}
TensorHandle fn::normal(const TensorHandle& mean, double std, Generator* generator) {
  return mean + like(mean, Draw::normal, 0, std, generator);
}
TensorHandle fn::normal(double mean, const TensorHandle& std, Generator* generator) {
  return std * like(std, Draw::normal, 0, 1, generator) + mean;
}
TensorHandle fn::normal(const TensorHandle& mean, const TensorHandle& std, Generator* generator) {
  const Shape shape = broadcast_shapes(mean.shape(), std.shape());
  return mean + std * draw(shape, Draw::normal, 0, 1, promote(mean.dtype(), std.dtype()), &mean.device(), generator);
}
TensorHandle fn::normal(
    double mean, double std, const Dims& size, std::optional<DType> dtype, Device* device, Generator* generator, bool requires_grad) {
  return asking_for_gradient(draw(size, Draw::normal, mean, std, dtype.value_or(default_dtype()), device, generator), requires_grad);
}
TensorHandle fn::bernoulli(const TensorHandle& input, Generator* generator) {
  require<DTypeError>(is_floating(input.dtype()), "expected probabilities of a floating-point dtype: got {}", input.dtype());
  return cast(lt(like(input, Draw::uniform, 0, 1, generator, DType::float32), detach(input)), input.dtype());
}
TensorHandle fn::bernoulli(const TensorHandle& input, double p, Generator* generator) {
  return like(input, Draw::bernoulli, p, 0, generator);
}
TensorHandle fn::multinomial(const TensorHandle& input, int64_t num_samples, bool replacement, Generator* generator) {
  require(input.rank() == 1 || input.rank() == 2, "expected one or two dimensions: got {}", input.shape());
  require<DTypeError>(is_floating(input.dtype()), "expected a floating dtype: got {}", input.dtype());
  require<ValueError>(num_samples > 0, "expected at least one sample: got {}", num_samples);
  const int64_t n = input.shape().back();
  const TensorHandle likely = detach(input);
  if (input.numel() > 0) {
    require<ValueError>(
        read_number(all(logical_and(ge(likely, 0), isfinite(likely)))) != 0, "probability tensor contains inf, nan or an element below 0");
    require<ValueError>(read_number(all(gt(sum(likely, Dims{-1}), 0))) != 0, "expected probabilities with a positive sum");
  }
  if (!replacement) {  // the first arrivals of clocks whose rates are the probabilities
    require<ValueError>(num_samples <= n, "cannot draw more samples than categories without replacement: got {} for {}", num_samples, n);
    return topk(likely / like(likely, Draw::exponential, 1, 0, generator), num_samples)[1];
  }
  const DType exact = widest_float(input.device().backend());
  const TensorHandle sums = cumsum(likely, -1, exact);
  Dims size = input.shape();
  size[input.rank() - 1] = num_samples;
  const TensorHandle places = draw(size, Draw::uniform, 0, 1, exact, &input.device(), generator) * TensorHandle(narrow(sums, -1, n - 1, 1));
  return minimum(searchsorted(sums, places, false, true), n - 1);
}
TensorHandle fn::uniform_(const TensorHandle& input, double from, double to, Generator* generator) {
  require<ValueError>(from <= to, "[uniform_] expected from <= to: got {} and {}", from, to);
  return draw(input.shape(), Draw::uniform, from, to, input.dtype(), nullptr, generator, input);
}
TensorHandle fn::normal_(const TensorHandle& input, double mean, double std, Generator* generator) {
  return draw(input.shape(), Draw::normal, mean, std, input.dtype(), nullptr, generator, input);
}
TensorHandle fn::bernoulli_(const TensorHandle& input, double p, Generator* generator) {
  return draw(input.shape(), Draw::bernoulli, p, 0, input.dtype(), nullptr, generator, input);
}
TensorHandle fn::bernoulli_(const TensorHandle& input, const TensorHandle& p, Generator* generator) {
  copy_into(input, bernoulli(expand(p, input.shape()), generator));
  return input;
}
TensorHandle fn::exponential_(const TensorHandle& input, double lambd, Generator* generator) {
  return draw(input.shape(), Draw::exponential, lambd, 0, input.dtype(), nullptr, generator, input);
}

void register_random(OpTable& table) {
  table.add({&op::random});
  table.add(functions);
}

}  // namespace pyburn
