// Tensors that are made from nothing: constants, ranges, random numbers.
#include <cmath>

#include "pyburn/onnx/call.h"
#include "pyburn/onnx/operators/host_tensors.h"
#include "pyburn/ops/generated/binary.h"
#include "pyburn/ops/generated/copy.h"
#include "pyburn/ops/generated/fill.h"
#include "pyburn/ops/generated/movement.h"
#include "pyburn/ops/generated/random.h"
#include "pyburn/ops/generated/random_functions.h"
#include "pyburn/ops/generated/rearrange.h"
#include "pyburn/ops/generated/softmax.h"
#include "pyburn/runtime/generator.h"
#include "pyburn/runtime/run.h"
#include "pyburn/support/error.h"

namespace pyburn::onnx {
namespace {

// Integers of few elements are shapes and indices: they stay on the host, so that what follows from them is known.
bool stays_on_host(DType dtype, int64_t elements) { return !is_floating(dtype) && elements <= 4096; }

Results constant(Call& c) {
  if (const TensorDef* t = c.tensor("value")) return value_of(*t);
  if (const TensorDef* t = c.tensor("sparse_value")) return value_of(*t);
  if (c.has("value_int")) return host_integer(c.integer("value_int"));
  if (const OptionalDims list = c.integers("value_ints")) return host_integers(*list);
  if (c.has("value_float")) return Value::on_host(reals_on(host_device(), {float(c.real("value_float"))}, {}));
  if (c.has("value_string")) return Value(make_ref<Strings>(Shape(), std::vector{c.text("value_string")}));
  if (c.has("value_strings")) {
    const std::vector<std::string> texts = c.texts("value_strings");
    return Value(make_ref<Strings>(Shape{int64_t(texts.size())}, texts));
  }
  const std::vector<double> reals = c.reals("value_floats");
  require<FormatError>(c.has("value_floats"), "[onnx] a Constant without a value");
  return Value::on_host(reals_on(host_device(), {reals.begin(), reals.end()}, {int64_t(reals.size())}));
}

// A tensor of `device`, made there, whatever level the call is at.
template <class Make>
Value make_at(Call& c, DType dtype, int64_t elements, const Make& make) {
  if (!stays_on_host(dtype, elements)) return make(c.device());
  const LevelScope plain(host_device().leaf());
  return Value::on_host(make(host_device()));
}

Results constant_of_shape(Call& c) {
  const Shape shape(c.dims_of("", 0));
  const TensorDef* t = c.tensor("value");
  require<FormatError>(!t || t->shape.numel() == 1, "[onnx] the value of ConstantOfShape must be one number");
  const DType dtype = t ? dtype_of(int64_t(t->type)) : DType::float32;
  return make_at(c, dtype, checked_numel(shape),
      [&](Device& device) { return t ? fn::expand(fn::reshape(tensor_of(*t, device), Dims()), shape) : fn::zeros(shape, dtype, &device); });
}

Results range(Call& c) {
  const DType dtype = c.value(0).tensor().dtype();
  const auto number = [&](int i) { return is_floating(dtype) ? Scalar(c.read_number(i)) : Scalar(c.read_integer(i)); };
  const Scalar start = number(0), limit = number(1), step = number(2);
  require<ValueError>(step.to_double() != 0, "[range] the step must not be 0");
  const double count = std::ceil((limit.to_double() - start.to_double()) / step.to_double());
  require(count < double(int64_t(1) << 40), "[range] too many elements: got {}", count);
  const int64_t n = std::max<int64_t>(int64_t(count), 0);
  return make_at(c, dtype, n, [&](Device& device) {
    const TensorHandle steps = fn::arange({}, n, 1, is_floating(dtype) ? dtype : DType::int64, &device);
    const TensorHandle values = fn::add(fn::mul(steps, step), start);
    return values.dtype() == dtype ? values : fn::cast(values, dtype);
  });
}

Results eye_like(Call& c) {
  const TensorHandle x = c.value(0).tensor();
  require(x.rank() == 2, "[eye_like] expected a matrix: got {}", x.shape());
  const DType dtype = c.dtype("dtype", x.dtype());
  const int64_t k = c.integer("k", 0);
  const TensorHandle ones = fn::ones(x.shape(), DType::float32, &c.device());
  const TensorHandle eye = fn::tril(fn::triu(ones, k), k);
  return dtype == DType::float32 ? eye : fn::cast(eye, dtype);
}

// A generator of its own where the file gives a seed, so that every run draws the same numbers.
class Seed {
 public:
  explicit Seed(Call& c) {
    if (!c.has("seed")) return;
    own_.emplace();
    own_->manual_seed(uint64_t(std::llround(c.real("seed") * 1024)));
  }
  Generator* generator() { return own_ ? &*own_ : nullptr; }

 private:
  std::optional<Generator> own_;
};

enum class Law { normal, uniform };
template <Law L>
TensorHandle draw(Call& c, const Shape& shape, DType dtype) {
  Seed seed(c);
  const DType compute = is_floating(dtype) ? dtype : DType::float32;
  const TensorHandle x = fn::empty(shape, compute, &c.device());
  if constexpr (L == Law::normal) return fn::normal_(x, c.real("mean", 0), c.real("scale", 1), seed.generator());
  else return fn::uniform_(x, c.real("low", 0), c.real("high", 1), seed.generator());
}
template <Law L>
Results random(Call& c) {
  const OptionalDims shape = c.integers("shape");
  require<FormatError>(shape.has_value(), "[onnx] attribute 'shape' is missing");
  return draw<L>(c, *shape, c.dtype("dtype", DType::float32));
}
template <Law L>
Results random_like(Call& c) {
  const TensorHandle& x = c.value(0).tensor();
  return draw<L>(c, x.shape(), c.dtype("dtype", is_floating(x.dtype()) ? x.dtype() : DType::float32));
}
Results bernoulli(Call& c) {
  Seed seed(c);
  const TensorHandle x = c.input(0);
  const TensorHandle drawn = fn::bernoulli(x, seed.generator());
  const DType dtype = c.dtype("dtype", x.dtype());
  return drawn.dtype() == dtype ? drawn : fn::cast(drawn, dtype);
}
Results multinomial(Call& c) {
  Seed seed(c);
  const TensorHandle odds = fn::softmax(c.input(0), 1);
  const TensorHandle drawn = fn::multinomial(odds, c.integer("sample_size", 1), true, seed.generator());
  const DType dtype = c.dtype("dtype", DType::int32);
  return dtype == DType::int64 ? drawn : fn::cast(drawn, dtype);
}

constexpr Operator kRows[] = {
    {"", "Constant", 1, constant},
    {"", "ConstantOfShape", 9, constant_of_shape, inputs_at(0)},
    {"", "Range", 11, range, inputs_at(0, 1, 2)},
    {"", "EyeLike", 9, eye_like, inputs_at(0)},
    {"", "RandomNormal", 1, random<Law::normal>},
    {"", "RandomUniform", 1, random<Law::uniform>},
    {"", "RandomNormalLike", 1, random_like<Law::normal>, inputs_at(0)},
    {"", "RandomUniformLike", 1, random_like<Law::uniform>, inputs_at(0)},
    {"", "Bernoulli", 15, bernoulli},
    {"", "Multinomial", 7, multinomial},
};

}  // namespace

std::span<const Operator> creation_operators() { return kRows; }

}  // namespace pyburn::onnx
