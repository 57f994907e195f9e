// Random numbers. The seed and the counter travel with the operation.
#include "pyburn/ops/random.h"

#include "pyburn/ops/rules.h"

namespace pyburn {
namespace {

Meta infer(const Random& a, Metas) {
  checked_numel(a.size);
  require<ValueError>(a.draw <= Draw::integer, "unknown distribution: got {}", int64_t(a.draw));
  if (a.draw == Draw::uniform || a.draw == Draw::normal)
    require<DTypeError>(is_floating(a.dtype), "expected a floating dtype: got {}", a.dtype);
  if (a.draw == Draw::normal) require<ValueError>(a.b >= 0, "expected a deviation of at least 0: got {}", a.b);
  if (a.draw == Draw::bernoulli) require<ValueError>(a.a >= 0 && a.a <= 1, "expected a probability between 0 and 1: got {}", a.a);
  if (a.draw == Draw::integer) require<ValueError>(a.a < a.b, "from must be less than to: got {} and {}", a.a, a.b);
  return {a.size, a.dtype};
}

}  // namespace

namespace op {
constinit OpInfo random = define<Random, infer>({.schema = "random(int[] size) -> Tensor",
    .doc = "Random numbers from a seed and a counter; rand, randn, randint and the in-place draws are made of it.",
    .kind = Kind::random,
    .no_grad = "has no tensor inputs"});
}  // namespace op

TensorHandle draw(
    const Dims& size, Draw kind, double a, double b, DType dtype, Device* device, Generator* generator, const TensorHandle& into) {
  const int64_t n = checked_numel(size);
  const RandomState s = (generator ? *generator : default_generator()).reserve(kind == Draw::normal ? 2 * n : n);
  const Random attrs{size, kind, a, b, int64_t(s.seed), int64_t(s.offset), dtype};
  TensorHandle out = into;
  dispatch({&op::random, &attrs}, {}, {&out, 1}, into.defined() ? &into.device() : device);
  return out;
}

namespace {
constinit FunctionInfo functions[] = {
    {.schema = "rand(int[] size, *, DType? dtype=None, Device? device=None, bool requires_grad=False, Generator? generator=None) -> Tensor",
        .doc = "Uniform random numbers from [0, 1).",
        .example = "pyburn.rand(2, 3).shape"},
    {.schema =
            "randn(int[] size, *, DType? dtype=None, Device? device=None, bool requires_grad=False, Generator? generator=None) -> Tensor",
        .doc = "Random numbers from the standard normal distribution.",
        .example = "pyburn.randn(2, 3).shape"},
    {.schema = "randint(int low, int? high, int[] size, *, DType? dtype=None, Device? device=None, Generator? generator=None) -> Tensor",
        .doc = "Random integers from [low, high).",
        .example = "pyburn.randint(0, 10, (3,)).shape"},
    {.schema = "uniform_(Tensor input, float from_=0, float to=1, *, Generator? generator=None) -> Tensor",
        .doc = "Fills input with uniform random numbers from [from_, to).",
        .example = "pyburn.empty(3).uniform_(-1, 1).shape"},
    {.schema = "normal_(Tensor input, float mean=0, float std=1, *, Generator? generator=None) -> Tensor",
        .doc = "Fills input with normally distributed random numbers.",
        .example = "pyburn.empty(3).normal_(0, 2).shape"},
    {.schema = "bernoulli_(Tensor input, float p=0.5, *, Generator? generator=None) -> Tensor",
        .doc = "Fills input with 1 with probability p and 0 otherwise.",
        .example = "pyburn.empty(3).bernoulli_(0.25).shape"},
};
}  // namespace

Tensor rand(const Dims& size, std::optional<DType> dtype, Device* device, bool requires_grad, Generator* generator) {
  return asking_for_gradient(draw(size, Draw::uniform, 0, 1, dtype.value_or(default_dtype()), device, generator), requires_grad);
}
Tensor randn(const Dims& size, std::optional<DType> dtype, Device* device, bool requires_grad, Generator* generator) {
  return asking_for_gradient(draw(size, Draw::normal, 0, 1, dtype.value_or(default_dtype()), device, generator), requires_grad);
}
Tensor randint(
    int64_t low, std::optional<int64_t> high, const Dims& size, std::optional<DType> dtype, Device* device, Generator* generator) {
  return draw(size, Draw::integer, high ? double(low) : 0, double(high.value_or(low)), dtype.value_or(DType::int64), device, generator);
}
Tensor uniform_(const TensorHandle& input, double from, double to, Generator* generator) {
  require<ValueError>(from <= to, "[uniform_] expected from <= to: got {} and {}", from, to);
  return draw(input.shape(), Draw::uniform, from, to, input.dtype(), nullptr, generator, input);
}
Tensor normal_(const TensorHandle& input, double mean, double std, Generator* generator) {
  return draw(input.shape(), Draw::normal, mean, std, input.dtype(), nullptr, generator, input);
}
Tensor bernoulli_(const TensorHandle& input, double p, Generator* generator) {
  return draw(input.shape(), Draw::bernoulli, p, 0, input.dtype(), nullptr, generator, input);
}

void register_random(OpTable& table) {
  table.add({&op::random});
  table.add(functions);
}

}  // namespace pyburn
