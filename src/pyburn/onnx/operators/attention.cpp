// Attention and what language models put around it: rotary embeddings, caches, linear attention, causal convolutions.
#include "pyburn/onnx/operators/attention.h"

#include <cmath>
#include <limits>

#include "pyburn/ops/generated/activation.h"
#include "pyburn/ops/generated/attention.h"
#include "pyburn/ops/generated/binary.h"
#include "pyburn/ops/generated/binary_math.h"
#include "pyburn/ops/generated/conv_functions.h"
#include "pyburn/ops/generated/copy.h"
#include "pyburn/ops/generated/fill.h"
#include "pyburn/ops/generated/index.h"
#include "pyburn/ops/generated/index_tensors.h"
#include "pyburn/ops/generated/join.h"
#include "pyburn/ops/generated/logic.h"
#include "pyburn/ops/generated/matmul.h"
#include "pyburn/ops/generated/movement.h"
#include "pyburn/ops/generated/pad.h"
#include "pyburn/ops/generated/rearrange.h"
#include "pyburn/ops/generated/reduce.h"
#include "pyburn/ops/generated/scatter.h"
#include "pyburn/ops/generated/softmax.h"
#include "pyburn/ops/generated/transcendental.h"
#include "pyburn/ops/operators.h"
#include "pyburn/support/checked.h"
#include "pyburn/support/error.h"

namespace pyburn::onnx {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

TensorHandle to(const TensorHandle& x, DType dtype) { return x.dtype() == dtype ? x : fn::cast(x, dtype); }

// 0 where a mask of bool is true, minus infinity elsewhere; other masks are added as they are.
TensorHandle as_bias(const TensorHandle& mask, DType dtype) {
  if (mask.dtype() != DType::boolean) return to(mask, dtype);
  return fn::where(mask, fn::zeros(Dims(), dtype, &mask.device()), -kInfinity);
}

}  // namespace

TensorHandle split_heads(const TensorHandle& x, int64_t heads) {
  require(x.rank() == 3 && heads > 0 && x.shape()[2] % heads == 0, "[attention] expected (batch, length, {} heads * size): got {}", heads,
      x.shape());
  return fn::transpose(fn::reshape(x, {x.shape()[0], x.shape()[1], heads, x.shape()[2] / heads}), 1, 2);
}
TensorHandle join_heads(const TensorHandle& x) { return fn::flatten(fn::transpose(x, 1, 2), 2); }

TensorHandle visible_keys(
    int64_t queries, int64_t keys, const TensorHandle& offset, bool causal, int64_t left, int64_t right, Device& device) {
  const TensorHandle i = fn::reshape(fn::arange(0, queries, 1, DType::int64, &device), {queries, 1});
  const TensorHandle j = fn::arange(0, keys, 1, DType::int64, &device);
  const TensorHandle ahead = j - (i + offset);  // how far a key lies after the query
  TensorHandle visible;
  const auto add = [&](const TensorHandle& condition) { visible = visible.defined() ? fn::logical_and(visible, condition) : condition; };
  if (causal) add(fn::le(ahead, 0));
  if (left >= 0) add(fn::ge(ahead, -left));
  if (right >= 0) add(fn::le(ahead, right));
  return visible;
}

TensorHandle attend(const Attending& a, TensorHandle* seen) {
  TensorHandle k = a.k, v = a.v;
  const int64_t heads = a.q.shape()[1], groups = k.shape()[1];
  require(groups > 0 && heads % groups == 0 && v.shape()[1] == groups,
      "[attention] the heads of keys and values must divide those of queries: got {}, {} and {}", heads, groups, v.shape()[1]);
  if (heads != groups) k = fn::repeat_interleave(k, heads / groups, 1), v = fn::repeat_interleave(v, heads / groups, 1);
  const DType dtype = a.q.dtype();
  const double scale = a.scale != 0 ? a.scale : 1 / std::sqrt(double(a.q.shape()[3]));
  const bool plain = !seen && a.softcap == 0 && !a.score_mod && !a.prob_mod;
  if (plain && !a.rows_may_be_empty)  // one operation, without the matrix of scores
    return fn::scaled_dot_product_attention(a.q, k, v, a.bias.defined() ? to(a.bias, dtype) : a.bias, 0.0, a.causal, scale);
  if (plain && size_of(dtype) == 2) {  // rounded once, at the end
    Attending wide = a;
    for (TensorHandle* t : {&wide.q, &wide.k, &wide.v}) *t = fn::cast(*t, DType::float32);
    wide.precision = {};
    return fn::cast(attend(wide), dtype);
  }
  const double root = std::sqrt(scale);
  TensorHandle scores =
      a.scales_both ? fn::matmul(a.q * root, fn::transpose(k * root, -1, -2)) : fn::matmul(a.q, fn::transpose(k, -1, -2)) * scale;
  if (seen && a.mode == 0) *seen = scores;
  if (a.softcap > 0) scores = fn::tanh(scores / a.softcap) * a.softcap;
  if (seen && a.mode == 1) *seen = scores;
  TensorHandle empty;
  if (a.bias.defined()) {
    const TensorHandle bias = to(a.bias, dtype);
    scores = scores + bias;
    if (a.rows_may_be_empty) empty = fn::eq(fn::amax(bias, Dims{-1}, true), -kInfinity);
  }
  if (seen && a.mode == 2) *seen = scores;
  const DType precise = a.precision.value_or(dtype);
  scores = to(scores, precise);
  if (a.score_mod) scores = a.score_mod(scores);
  if (empty.defined()) scores = fn::where(empty, 0.0, scores);
  TensorHandle shares = fn::softmax(scores, -1);
  if (empty.defined()) shares = fn::where(empty, 0.0, shares);
  if (a.prob_mod) shares = a.prob_mod(shares);
  shares = to(shares, dtype);
  if (seen && a.mode == 3) *seen = shares;
  return fn::matmul(shares, v);
}

TensorHandle rotated(const TensorHandle& x, const TensorHandle& cos_, const TensorHandle& sin_, bool interleaved, int64_t size) {
  const int64_t width = x.shape()[3], whole = size > 0 ? size : width, half = whole / 2;
  require(whole <= width && whole % 2 == 0 && cos_.shape().back() == half && sin_.shape().back() == half,
      "[rotary_embedding] the caches do not fit {}: expected {} columns, got {} and {}", x.shape(), half, cos_.shape(), sin_.shape());
  const TensorHandle turned = whole == width ? x : fn::slice(x, 3, 0, whole);
  const TensorHandle c = fn::unsqueeze(cos_, 1), s = fn::unsqueeze(sin_, 1);  // (batch, 1, length, half)
  const TensorHandle a = interleaved ? fn::slice(turned, 3, 0, whole, 2) : fn::slice(turned, 3, 0, half);
  const TensorHandle b = interleaved ? fn::slice(turned, 3, 1, whole, 2) : fn::slice(turned, 3, half, whole);
  const TensorHandle real = c * a - s * b, imaginary = s * a + c * b;
  TensorHandle y = interleaved ? fn::flatten(fn::stack({real, imaginary}, -1), 3) : fn::cat({real, imaginary}, 3);
  return whole == width ? y : fn::cat({y, fn::slice(x, 3, whole, width)}, 3);
}
TensorHandle cache_rows(const TensorHandle& cache, const TensorHandle& positions) { return fn::_index(cache, {positions}, 0); }

namespace {

Results attention(Call& c) {
  TensorHandle q = c.input(0), k = c.input(1), v = c.input(2);
  require((q.rank() == 3 || q.rank() == 4) && k.rank() == q.rank() && v.rank() == q.rank(),
      "[attention] expected 3 or 4 axes: got {}, {} and {}", q.shape(), k.shape(), v.shape());
  const bool flat = q.rank() == 3;
  if (flat) {
    const int64_t groups = c.integer("kv_num_heads");
    q = split_heads(q, c.integer("q_num_heads")), k = split_heads(k, groups), v = split_heads(v, groups);
  }
  const TensorHandle past_key = c.optional_input(4), past_value = c.optional_input(5), lengths = c.optional_input(6);
  if (past_key.defined()) k = fn::cat({past_key, k}, 2);
  if (past_value.defined()) v = fn::cat({past_value, v}, 2);
  const int64_t queries = q.shape()[2], keys = k.shape()[2];
  const int64_t left = c.integer("left_window_size", -1), right = c.integer("right_window_size", -1);
  const bool causal = c.flag("is_causal");
  TensorHandle bias;
  const auto add = [&](const TensorHandle& part) { bias = bias.defined() ? bias + part : part; };
  if (c.has_input(3)) {
    TensorHandle mask = as_bias(c.input(3), q.dtype());
    if (mask.shape().back() < keys && mask.shape().back() != 1)
      mask = fn::constant_pad_nd(mask, {0, keys - mask.shape().back()}, -kInfinity);
    add(mask);
  }
  const bool from_start = causal && left < 0 && right < 0 && !past_key.defined() && !lengths.defined();
  const bool one_step = from_start && !bias.defined() && !c.wants_output(3) && c.real("softcap", 0) == 0;
  if (!one_step && (causal || left >= 0 || right >= 0)) {
    TensorHandle offset;
    if (!past_key.defined() && lengths.defined()) offset = fn::reshape(to(lengths, DType::int64), {-1, 1, 1, 1}) - queries;
    else offset = fn::full(Dims(), past_key.defined() ? past_key.shape()[2] : 0, DType::int64, &q.device());
    add(as_bias(visible_keys(queries, keys, offset, causal, left, right, q.device()), q.dtype()));
  }
  if (lengths.defined()) {
    const TensorHandle j = fn::arange(0, keys, 1, DType::int64, &q.device());
    add(as_bias(fn::lt(j, fn::reshape(to(lengths, DType::int64), {-1, 1, 1, 1})), q.dtype()));
  }
  Attending a{.q = q, .k = k, .v = v, .bias = bias};
  a.scale = c.real("scale", 0), a.softcap = c.real("softcap", 0), a.mode = c.integer("qk_matmul_output_mode", 0);
  a.causal = one_step, a.scales_both = true;
  a.rows_may_be_empty = c.has_input(3) || lengths.defined() || left >= 0 || right >= 0;
  if (c.has("softmax_precision")) a.precision = c.dtype("softmax_precision");
  TensorHandle seen;
  const TensorHandle y = attend(a, c.wants_output(3) ? &seen : nullptr);
  Results results{flat ? join_heads(y) : y, k, v};
  if (seen.defined()) results.push_back(seen);
  return results;
}

Results flex_attention(Call& c) {
  Attending a{.q = c.input(0), .k = c.input(1), .v = c.input(2)};
  require(a.q.rank() == 4 && a.k.rank() == 4 && a.v.rank() == 4, "[flex_attention] expected 4 axes: got {}, {} and {}", a.q.shape(),
      a.k.shape(), a.v.shape());
  const DType dtype = a.q.dtype();
  a.precision = c.dtype("softmax_precision", dtype == DType::float64 ? dtype : DType::float32);
  const auto graph = [&c](const char* name) -> std::function<TensorHandle(const TensorHandle&)> {
    if (!c.has(name)) return {};
    return [&c, name](const TensorHandle& x) {
      const Value in[] = {Value(x)};
      const Values out = c.run_graph(name, in);
      require<FormatError>(out.size() == 1 && out[0].is_tensor(), "[onnx] {} must have one output, a tensor", name);
      return out[0].tensor();
    };
  };
  a.score_mod = graph("score_mod"), a.prob_mod = graph("prob_mod"), a.scale = c.real("scale", 0);
  a.q = to(a.q, *a.precision), a.k = to(a.k, *a.precision), a.v = to(a.v, *a.precision);
  return to(attend(a, nullptr), dtype);
}

Results rotary_embedding(Call& c) {
  TensorHandle x = c.input(0), cos = c.input(1), sin = c.input(2);
  const bool flat = x.rank() == 3;
  if (flat) x = split_heads(x, c.integer("num_heads"));
  require(x.rank() == 4, "[rotary_embedding] expected 3 or 4 axes: got {}", x.shape());
  if (c.has_input(3)) cos = cache_rows(cos, c.input(3)), sin = cache_rows(sin, c.input(3));
  const TensorHandle y = rotated(x, cos, sin, c.flag("interleaved"), c.integer("rotary_embedding_dim", 0));
  return flat ? join_heads(y) : y;
}

// Writes an update into a cache, from a place of its own in each line of the batch on.
Results tensor_scatter(Call& c) {
  const TensorHandle past = c.input(0), update = c.input(1);
  const int axis = normalise_dim(c.integer("axis", -2), past.rank());
  require(axis > 0 && update.rank() == past.rank() && update.shape()[axis] <= past.shape()[axis],
      "[tensor_scatter] the update does not fit: got {} for {}", update.shape(), past.shape());
  const int64_t length = update.shape()[axis], room = past.shape()[axis];
  Dims along(past.rank(), 1), lines(past.rank(), 1);
  along[axis] = length, lines[0] = -1;
  TensorHandle places = fn::reshape(fn::arange(0, length, 1, DType::int64, &past.device()), along);
  if (c.has_input(2)) places = places + fn::reshape(to(c.input(2), DType::int64), lines);
  if (c.text("mode", "linear") == "circular") places = fn::remainder(places, std::max<int64_t>(1, room));
  return fn::scatter(past, axis, fn::expand(places, update.shape()), update);
}

// A depthwise convolution that sees the past only; the last positions are the state of the next call.
Results causal_conv_with_state(Call& c) {
  const TensorHandle x = c.input(0), weight = c.input(1);
  require(x.rank() == 3 && weight.rank() == 3 && weight.shape()[2] > 0, "[causal_conv_with_state] expected 3 axes: got {} and {}",
      x.shape(), weight.shape());
  const int64_t before = weight.shape()[2] - 1, channels = x.shape()[1];
  const TensorHandle whole = c.has_input(3) ? fn::cat({c.input(3), x}, 2) : fn::constant_pad_nd(x, {before, 0}, 0.0);
  TensorHandle y = fn::conv1d(whole, weight, c.optional_input(2), Dims{1}, Dims{0}, Dims{1}, channels);
  const std::string activation = c.text("activation", "none");
  require<FormatError>(
      activation == "none" || activation == "silu" || activation == "swish", "[onnx] no such activation: got '{}'", activation);
  if (activation != "none") y = fn::silu(y);
  const int64_t length = whole.shape()[2];
  return {y, fn::slice(whole, 2, length - before, length)};
}

// One token after the other, as the standard defines it; the state is kept in float32.
Results linear_attention(Call& c) {
  const int64_t heads = c.integer("q_num_heads"), groups = c.integer("kv_num_heads");
  const TensorHandle query = c.input(0);
  const auto numbers = [](const TensorHandle& x) { return to(x, x.dtype() == DType::float64 ? x.dtype() : DType::float32); };
  TensorHandle q = split_heads(numbers(query), heads);
  const TensorHandle k = split_heads(numbers(c.input(1)), groups), v = split_heads(numbers(c.input(2)), groups);
  require(heads % groups == 0, "[linear_attention] q_num_heads must be a multiple of kv_num_heads: got {} and {}", heads, groups);
  const std::string rule = c.text("update_rule", "gated_delta");
  const bool gated = rule == "gated" || rule == "gated_delta", delta = rule == "delta" || rule == "gated_delta";
  require<FormatError>(gated || delta || rule == "linear", "[onnx] no such update_rule: got '{}'", rule);
  require<FormatError>(
      c.has_input(4) == gated && c.has_input(5) == delta, "[onnx] update_rule '{}' does not fit the inputs decay and beta", rule);
  const int64_t batch = q.shape()[0], steps = q.shape()[2], width = k.shape()[3], depth = v.shape()[3], each = heads / groups;
  const double given = c.real("scale", 0), scale = given != 0 ? given : 1 / std::sqrt(double(q.shape()[3]));
  TensorHandle decay, beta;
  if (gated) {
    const TensorHandle g = numbers(c.input(4));
    decay = fn::exp(g.shape().back() == groups ? fn::unsqueeze(fn::transpose(g, 1, 2), -1) : split_heads(g, groups));
  }
  if (delta) beta = fn::unsqueeze(fn::transpose(numbers(c.input(5)), 1, 2), -1);  // (batch, groups or 1, steps, 1)
  TensorHandle state = c.has_input(3) ? numbers(c.input(3)) : fn::zeros({batch, groups, width, depth}, q.dtype(), &q.device());
  Tensors outputs;
  const auto at = [](const TensorHandle& t, int64_t i) { return fn::select(t, 2, i); };
  for (int64_t t = 0; t < steps; ++t) {
    if (gated) state = state * fn::unsqueeze(at(decay, t), -1);
    const TensorHandle key = fn::unsqueeze(at(k, t), -1);  // (batch, groups, width, 1)
    TensorHandle value = fn::unsqueeze(at(v, t), -2);      // (batch, groups, 1, depth)
    if (delta) value = (value - fn::matmul(fn::transpose(key, -1, -2), state)) * fn::unsqueeze(at(beta, t), -1);
    state = state + key * value;
    const TensorHandle shared = each > 1 ? fn::repeat_interleave(state, each, 1) : state;
    outputs.push_back(fn::matmul(fn::unsqueeze(at(q, t), -2), shared) * scale);
  }
  const TensorHandle y = steps ? fn::cat(outputs, 2) : fn::zeros({batch, heads, 0, depth}, q.dtype(), &q.device());
  const DType state_dtype = c.has_input(3) ? c.value(3).tensor().dtype() : query.dtype();
  return {to(join_heads(y), query.dtype()), to(state, state_dtype)};
}

Results swiglu(Call& c) {
  const TensorHandle gate = c.input(0);
  const double alpha = c.real("alpha", 1);
  return (alpha == 1 ? fn::silu(gate) : gate * fn::sigmoid(gate * alpha)) * c.input(1);
}

constexpr Operator kRows[] = {
    {"", "Attention", 23, attention},
    {"ai.onnx.preview", "FlexAttention", 1, flex_attention},
    {"", "RotaryEmbedding", 23, rotary_embedding},
    {"", "TensorScatter", 24, tensor_scatter},
    {"", "CausalConvWithState", 27, causal_conv_with_state},
    {"", "LinearAttention", 27, linear_attention},
    {"", "SwiGLU", 28, swiglu},
};

}  // namespace

std::span<const Operator> attention_operators() { return kRows; }

}  // namespace pyburn::onnx
