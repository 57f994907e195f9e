// The domain com.microsoft, as exporters and ONNX Runtime's optimiser write it.
#include <cmath>
#include <limits>

#include "pyburn/onnx/call.h"
#include "pyburn/onnx/operators/attention.h"
#include "pyburn/onnx/operators/convolution.h"
#include "pyburn/onnx/operators/host_tensors.h"
#include "pyburn/ops/generated/activation.h"
#include "pyburn/ops/generated/axes.h"
#include "pyburn/ops/generated/binary.h"
#include "pyburn/ops/generated/copy.h"
#include "pyburn/ops/generated/fill.h"
#include "pyburn/ops/generated/index.h"
#include "pyburn/ops/generated/join.h"
#include "pyburn/ops/generated/logic.h"
#include "pyburn/ops/generated/loss.h"
#include "pyburn/ops/generated/matmul.h"
#include "pyburn/ops/generated/movement.h"
#include "pyburn/ops/generated/normalisation.h"
#include "pyburn/ops/generated/pointwise.h"
#include "pyburn/ops/generated/reduce.h"
#include "pyburn/ops/generated/scatter.h"
#include "pyburn/ops/generated/softmax.h"
#include "pyburn/ops/generated/solvers.h"
#include "pyburn/ops/generated/transcendental.h"
#include "pyburn/ops/generated/unary.h"
#include "pyburn/ops/operators.h"
#include "pyburn/support/checked.h"
#include "pyburn/support/error.h"

namespace pyburn::onnx {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

TensorHandle to(const TensorHandle& x, DType dtype) { return x.dtype() == dtype ? x : fn::cast(x, dtype); }

// --- activations ---

Results gelu(Call& c) { return fn::gelu(c.input(0)); }
Results quick_gelu(Call& c) {
  const TensorHandle x = c.input(0);
  return x * fn::sigmoid(x * c.real("alpha", 1.702));
}
Results bias_gelu(Call& c) { return fn::gelu(c.input(0) + c.input(1)); }
Results fast_gelu(Call& c) { return fn::gelu(c.has_input(1) ? c.input(0) + c.input(1) : c.input(0), "tanh"); }
Results bias_add(Call& c) { return c.input(0) + c.input(1) + c.input(2); }

TensorHandle activated(Call& c, const TensorHandle& x, const std::string& name, const std::vector<double>& numbers) {
  const auto number = [&](size_t i, double otherwise) { return i < numbers.size() ? numbers[i] : otherwise; };
  if (name.empty()) return x;
  if (name == "Relu") return fn::relu(x);
  if (name == "Sigmoid") return fn::sigmoid(x);
  if (name == "Tanh") return fn::tanh(x);
  if (name == "Gelu") return fn::gelu(x);
  if (name == "LeakyRelu") return fn::leaky_relu(x, number(0, c.real("leaky_relu_alpha", 0.01)));
  if (name == "Clip") return fn::clamp(x, number(0, -kInfinity), number(1, kInfinity));
  if (name == "HardSigmoid") return fn::clamp(x * number(0, 0.2) + number(1, 0.5), 0.0, 1.0);
  if (name == "HardSwish") return fn::hardswish(x);
  fail<UnsupportedOp>("[onnx] no such activation of a fused operator: got '{}'", name);
}

// --- products and convolutions ---

TensorHandle transposed(const TensorHandle& x) { return x.rank() < 2 ? x : fn::transpose(x, -1, -2); }
// The first batch axis after the rows: (rows, batch..., columns).
TensorHandle batch_after_rows(const TensorHandle& x) {
  require(x.rank() >= 3, "[fused_matmul] transBatch needs at least 3 axes: got {}", x.shape());
  return fn::movedim(x, {0}, {x.rank() - 2});
}
Results fused_matmul(Call& c) {
  TensorHandle a = c.input(0), b = c.input(1);
  if (c.flag("transBatchA")) a = batch_after_rows(a);
  if (c.flag("transBatchB")) b = batch_after_rows(b);
  if (c.flag("transA")) a = transposed(a);
  if (c.flag("transB")) b = transposed(b);
  const double alpha = c.real("alpha", 1);
  const TensorHandle y = fn::matmul(a, b);
  return activated(c, alpha == 1 ? y : y * alpha, c.text("activation", ""), {});
}
Results fused_gemm(Call& c) {
  TensorHandle a = c.input(0), b = c.input(1);
  if (c.flag("transA")) a = transposed(a);
  if (c.flag("transB")) b = transposed(b);
  TensorHandle y = fn::matmul(a, b) * c.real("alpha", 1);
  if (c.has_input(2)) y = y + c.input(2) * c.real("beta", 1);
  std::vector<double> numbers;
  for (const char* name : {"activation_alpha", "activation_beta"})
    if (c.has(name)) numbers.push_back(c.real(name));
  return activated(c, y, c.text("activation", ""), numbers);
}
Results fused_conv(Call& c) {
  TensorHandle y = convolution(c, c.input(0), c.input(1), c.optional_input(2));
  if (c.has_input(3)) y = y + c.input(3);
  return activated(c, y, c.text("activation", ""), c.reals("activation_params"));
}

// Weights of 2, 4 or 8 bits, quantised in blocks along K: (N, blocks, bytes of a block), the low bits first.
TensorHandle unpacked(const TensorHandle& bytes, int64_t bits, int64_t count) {
  if (bits == 8) return fn::slice(bytes, -1, 0, count);
  const int64_t each = 8 / bits;
  Tensors parts;
  for (int64_t i = 0; i < each; ++i) parts.push_back(fn::bitwise_and(fn::bitwise_right_shift(bytes, i * bits), (int64_t(1) << bits) - 1));
  return fn::slice(fn::flatten(fn::stack(parts, -1), bytes.rank() - 1), -1, 0, count);
}
Results matmul_nbits(Call& c) {
  const TensorHandle x = c.input(0), packed = c.input(1);
  const int64_t k = c.integer("K"), n = c.integer("N"), bits = c.integer("bits", 4), block = c.integer("block_size");
  require<FormatError>((bits == 2 || bits == 4 || bits == 8) && block > 0 && k > 0 && n > 0 && block < int64_t(1) << 31 &&
                           k < int64_t(1) << 40 && n < int64_t(1) << 31,
      "[matmul_nbits] sizes are out of range: got K {}, N {}, bits {}, block_size {}", k, n, bits, block);
  const int64_t blocks = divide_up(k, block), bytes = divide_up(Checked(block) * bits, 8);
  require(packed.numel() == Checked(n) * blocks * bytes && packed.dtype() == DType::uint8,
      "[matmul_nbits] expected weights ({}, {}, {}): got {}", n, blocks, bytes, packed.shape());
  require<UnsupportedOp>(!c.has_input(4), "[matmul_nbits] g_idx is not supported");
  const DType dtype = x.dtype();
  const TensorHandle codes = to(unpacked(fn::reshape(packed, {n, blocks, bytes}), bits, block), dtype);
  const TensorHandle scales = fn::reshape(to(c.input(2), dtype), {n, blocks, 1});
  TensorHandle zero;
  if (!c.has_input(3)) zero = fn::full(Dims(), double(int64_t(1) << (bits - 1)), dtype, &x.device());
  else if (const TensorHandle given = c.input(3); given.dtype() == DType::uint8) {
    const int64_t width = divide_up(Checked(blocks) * bits, 8);
    zero = fn::reshape(to(unpacked(fn::reshape(given, {n, width}), bits, blocks), dtype), {n, blocks, 1});
  } else zero = fn::reshape(to(given, dtype), {n, blocks, 1});
  const TensorHandle weight = fn::slice(fn::flatten((codes - zero) * scales, 1), 1, 0, k);
  return fn::linear(x, weight, c.optional_input(5));
}

// --- normalisation ---

TensorHandle rms(const TensorHandle& x, const TensorHandle& weight, double epsilon) {
  const TensorHandle wide = to(x, x.dtype() == DType::float64 ? x.dtype() : DType::float32);
  return to(wide * fn::rsqrt(fn::mean(wide * wide, Dims{-1}, true) + epsilon), x.dtype()) * weight;
}
Results skip_layer_norm(Call& c) {
  TensorHandle x = c.input(0) + c.input(1);
  if (c.has_input(4)) x = x + c.input(4);
  const TensorHandle y = fn::layer_norm(x, {x.shape().back()}, c.input(2), c.optional_input(3), c.real("epsilon", 1e-12));
  Results results{y};
  if (c.outputs() > 1) {
    const TensorHandle mean = fn::mean(x, Dims{-1}, true), centered = x - mean;
    results.emplace_back(mean);
    results.emplace_back(fn::rsqrt(fn::mean(centered * centered, Dims{-1}, true) + c.real("epsilon", 1e-12)));
    results.emplace_back(x);
  }
  return results;
}
Results skip_rms_norm(Call& c) {
  TensorHandle x = c.input(0) + c.input(1);
  if (c.has_input(3)) x = x + c.input(3);
  return Values{rms(x, c.input(2), c.real("epsilon", 1e-5)), Value(), Value(), x};
}
Results simplified_layer_norm(Call& c) { return Values{rms(c.input(0), c.input(1), c.real("epsilon", 1e-5)), Value()}; }

// Sums of embeddings of tokens, places and segments, normalised; and how many tokens each line has.
Results embed_layer_norm(Call& c) {
  const TensorHandle ids = c.input(0), words = c.input(2), places = c.input(3);
  require(ids.rank() == 2, "[embed_layer_norm] expected ids (batch, length): got {}", ids.shape());
  const int64_t batch = ids.shape()[0], length = ids.shape()[1];
  TensorHandle x = cache_rows(words, ids);
  x = x + (c.has_input(8) ? cache_rows(places, c.input(8)) : fn::slice(places, 0, 0, length));
  if (c.has_input(1) && c.has_input(4)) x = x + cache_rows(c.input(4), c.input(1));
  const TensorHandle y = fn::layer_norm(x, {x.shape().back()}, c.input(5), c.input(6), c.real("epsilon", 1e-12));
  const TensorHandle mask = c.has_input(7) ? fn::cast(fn::sum(to(c.input(7), DType::int64), Dims{1}), DType::int32)
                                           : fn::zeros({batch}, DType::int32, &x.device());
  return {y, mask, x};
}

// --- attention ---

// (2, batch, heads, length, size) of keys and values before; joined with the new ones.
struct Cached {
  TensorHandle k, v;
};
Cached with_past(const TensorHandle& past, const TensorHandle& k, const TensorHandle& v) {
  if (!past.defined()) return {k, v};
  return {fn::cat({fn::select(past, 0, 0), k}, 2), fn::cat({fn::select(past, 0, 1), v}, 2)};
}

// A mask of keys in any of the forms of the domain, as a bias. 1-d: how many keys of each line count, then perhaps where they begin.
TensorHandle key_bias(const TensorHandle& mask, int64_t batch, int64_t keys, double filtered, DType dtype) {
  TensorHandle visible;
  if (mask.rank() == 1) {
    const TensorHandle j = fn::arange(0, keys, 1, DType::int64, &mask.device());
    const TensorHandle ends = fn::reshape(to(fn::slice(mask, 0, 0, batch), DType::int64), {-1, 1, 1, 1});
    visible = fn::lt(j, ends);
    if (mask.shape()[0] == 2 * batch)
      visible = fn::logical_and(visible, fn::ge(j, fn::reshape(to(fn::slice(mask, 0, batch, 2 * batch), DType::int64), {-1, 1, 1, 1})));
  } else {
    require(mask.rank() <= 4, "[attention] the mask has too many axes: got {}", mask.shape());
    visible = fn::ne(mask, 0);
    if (mask.rank() == 2) visible = fn::unsqueeze(fn::unsqueeze(visible, 1), 1);
    if (mask.rank() == 3) visible = fn::unsqueeze(visible, 1);
  }
  return fn::where(visible, fn::zeros(Dims(), dtype, &mask.device()), filtered);
}
TensorHandle sum_of(const TensorHandle& a, const TensorHandle& b) { return !a.defined() ? b : !b.defined() ? a : a + b; }
TensorHandle causal_bias(const TensorHandle& q, int64_t keys, double filtered) {
  const int64_t queries = q.shape()[2];
  const TensorHandle offset = fn::full(Dims(), keys - queries, DType::int64, &q.device());
  const TensorHandle visible = visible_keys(queries, keys, offset, true, -1, -1, q.device());
  return fn::where(visible, fn::zeros(Dims(), q.dtype(), &q.device()), filtered);
}

// One product gives queries, keys and values. `mask`, `past`, `added`: which inputs they are.
Results self_attention(Call& c, const TensorHandle& x, const TensorHandle& weight, int mask, int past, int added) {
  require(x.rank() == 3 && weight.rank() == 2, "[attention] expected (batch, length, size) and a matrix: got {} and {}", x.shape(),
      weight.shape());
  const int64_t heads = c.integer("num_heads");
  require<FormatError>(!c.flag("do_rotary") && !c.flag("past_present_share_buffer"),
      "[attention] do_rotary and past_present_share_buffer are not supported");
  TensorHandle qkv = fn::matmul(x, weight);
  if (c.has_input(2)) qkv = qkv + c.input(2);
  const int64_t all = weight.shape()[1];
  const Dims sizes = c.integers("qkv_hidden_sizes", {all / 3, all / 3, all / 3});
  require(sizes.size() == 3 && sizes[0] > 0 && sizes[1] > 0 && sizes[2] > 0 && Checked(sizes[0]) + sizes[1] + sizes[2] == all,
      "[attention] qkv_hidden_sizes do not fit {}: got {}", weight.shape(), sizes);
  const TensorHandle q = split_heads(fn::slice(qkv, 2, 0, sizes[0]), heads);
  const auto [k, v] = with_past(c.optional_input(past), split_heads(fn::slice(qkv, 2, sizes[0], sizes[0] + sizes[1]), heads),
      split_heads(fn::slice(qkv, 2, sizes[0] + sizes[1], all), heads));
  const int64_t keys = k.shape()[2];
  const double filtered = c.real("mask_filter_value", -10000);
  TensorHandle bias = c.optional_input(added);
  if (c.has_input(mask)) bias = sum_of(bias, key_bias(c.input(mask), x.shape()[0], keys, filtered, q.dtype()));
  if (c.flag("unidirectional")) bias = sum_of(bias, causal_bias(q, keys, filtered));
  const TensorHandle y = attend({.q = q, .k = k, .v = v, .bias = bias, .scale = c.real("scale", 0)});
  Results results{join_heads(y)};
  if (c.wants_output(1)) results.emplace_back(fn::stack({k, v}));
  return results;
}

Results attention(Call& c) { return self_attention(c, c.input(0), c.input(1), 3, 4, 5); }
// The same on integers: inputs 3 and 4 are the scales of x and of the weight, 6 and 7 their zero points.
Results quantised_attention(Call& c) {
  const auto number = [&](int i) {
    const TensorHandle scale = c.input(i + 3), x = fn::cast(c.input(i), scale.dtype());
    return (c.has_input(i + 6) ? x - fn::cast(c.input(i + 6), scale.dtype()) : x) * scale;
  };
  return self_attention(c, number(0), number(1), 5, 8, -1);
}

Results multi_head_attention(Call& c) {
  TensorHandle q = c.input(0), k = c.optional_input(1), v = c.optional_input(2);
  const int64_t heads = c.integer("num_heads");
  if (q.rank() == 5) {  // (batch, length, heads, 3, size)
    const auto part = [&](int64_t i) { return fn::transpose(fn::select(q, 3, i), 1, 2); };
    k = part(1), v = part(2), q = part(0);
  } else {
    require(k.defined() && q.rank() == 3, "[multi_head_attention] expected a query of 3 axes and a key: got {}", q.shape());
    const TensorHandle bias = c.optional_input(3);
    const int64_t width = q.shape()[2];
    const auto biased = [&](const TensorHandle& t, int64_t from, int64_t to) {
      return bias.defined() ? t + fn::slice(bias, 0, from, to) : t;
    };
    if (k.rank() == 5) {  // (batch, length, heads, 2, size)
      v = fn::transpose(fn::select(k, 3, 1), 1, 2), k = fn::transpose(fn::select(k, 3, 0), 1, 2);
    } else if (k.rank() == 3) {
      require(v.defined() && v.rank() == 3, "[multi_head_attention] expected a value of 3 axes");
      k = split_heads(biased(k, width, 2 * width), heads);
      v = split_heads(biased(v, 2 * width, 2 * width + v.shape()[2]), heads);
    }
    q = split_heads(biased(q, 0, width), heads);
  }
  require(k.rank() == 4 && v.defined() && v.rank() == 4, "[multi_head_attention] the forms of key and value do not fit");
  if (c.has_input(6)) k = fn::cat({c.input(6), k}, 2), v = fn::cat({c.input(7), v}, 2);
  const int64_t keys = k.shape()[2];
  const double filtered = c.real("mask_filter_value", -10000);
  TensorHandle bias = c.optional_input(5);
  if (c.has_input(4)) bias = sum_of(bias, key_bias(c.input(4), q.shape()[0], keys, filtered, q.dtype()));
  if (c.flag("unidirectional")) bias = sum_of(bias, causal_bias(q, keys, filtered));
  const TensorHandle y = attend({.q = q, .k = k, .v = v, .bias = bias, .scale = c.real("scale", 0)});
  return {join_heads(y), k, v};
}

// Queries share keys; a cache of a fixed length is written at the end of each sequence, another one grows.
Results group_query_attention(Call& c) {
  const int64_t heads = c.integer("num_heads"), groups = c.integer("kv_num_heads");
  require<FormatError>(heads > 0 && groups > 0, "[group_query_attention] expected positive numbers of heads: got {} and {}", heads, groups);
  TensorHandle q = c.input(0), k = c.optional_input(1), v = c.optional_input(2);
  require(q.rank() == 3, "[group_query_attention] expected a query (batch, length, size): got {}", q.shape());
  if (!k.defined()) {
    const int64_t size = q.shape()[2] / (Checked(heads) + Checked(groups) * 2), rest = Checked(size) * heads, each = Checked(size) * groups;
    k = fn::slice(q, 2, rest, rest + each), v = fn::slice(q, 2, rest + each, rest + 2 * each), q = fn::slice(q, 2, 0, rest);
  }
  q = split_heads(q, heads), k = split_heads(k, groups), v = split_heads(v, groups);
  const int64_t fresh = q.shape()[2], total = c.read_integer(6);
  const TensorHandle last = fn::reshape(to(c.input(5), DType::int64), {-1, 1});  // the place of the last valid key of each line
  const TensorHandle before = last + 1 - fresh;
  if (c.flag("do_rotary")) {
    const TensorHandle places =
        c.has_input(9) ? to(c.input(9), DType::int64) : fn::clamp(before + fn::arange(0, fresh, 1, DType::int64, &q.device()), 0);
    const TensorHandle cos = cache_rows(c.input(7), places), sin = cache_rows(c.input(8), places);
    const bool interleaved = c.flag("rotary_interleaved");
    const int64_t turned = 2 * c.input(7).shape().back();
    q = rotated(q, cos, sin, interleaved, turned), k = rotated(k, cos, sin, interleaved, turned);
  }
  if (c.has_input(3)) {
    const TensorHandle past_k = c.input(3), past_v = c.input(4);
    if (past_k.rank() == 4 && past_k.shape()[2] >= total && fresh < total) {
      TensorHandle places = fn::reshape(before + fn::arange(0, fresh, 1, DType::int64, &q.device()), {-1, 1, fresh, 1});
      k = fn::scatter(past_k, 2, fn::expand(places, k.shape()), k), v = fn::scatter(past_v, 2, fn::expand(places, v.shape()), v);
    } else k = fn::cat({past_k, k}, 2), v = fn::cat({past_v, v}, 2);
  }
  const int64_t keys = k.shape()[2], window = c.integer("local_window_size", -1);
  const TensorHandle visible =
      visible_keys(fresh, keys, fn::reshape(before, {-1, 1, 1, 1}), true, window > 0 ? window - 1 : -1, -1, q.device());
  TensorHandle bias = fn::where(visible, fn::zeros(Dims(), q.dtype(), &q.device()), -kInfinity);
  if (c.has_input(10)) bias = bias + c.input(10);
  const TensorHandle y = attend(
      {.q = q, .k = k, .v = v, .bias = bias, .scale = c.real("scale", 0), .softcap = c.real("softcap", 0), .rows_may_be_empty = true});
  return {join_heads(y), k, v};
}

Results rotary_embedding(Call& c) {
  TensorHandle x = c.input(0), places = to(c.input(1), DType::int64);
  const TensorHandle cos = c.input(2), sin = c.input(3);
  const bool flat = x.rank() == 3;
  const int64_t turned = c.integer("rotary_embedding_dim", 0), given = c.integer("num_heads", 0);
  const int64_t by_cache = std::max<int64_t>(1, Checked(cos.shape().back()) * 2);
  if (flat) x = split_heads(x, given > 0 ? given : x.shape()[2] / by_cache);
  require(x.rank() == 4, "[rotary_embedding] expected 3 or 4 axes: got {}", x.shape());
  if (places.numel() == 1) places = fn::reshape(places, {1, 1}) + fn::arange(0, x.shape()[2], 1, DType::int64, &x.device());
  const TensorHandle y = rotated(x, cache_rows(cos, places), cache_rows(sin, places), c.flag("interleaved"), turned);
  return flat ? join_heads(y) : y;
}

// --- others ---

// Distances of all pairs of rows.
Results cdist(Call& c) {
  const std::string metric = c.text("metric", "sqeuclidean");
  require<UnsupportedOp>(metric == "euclidean" || metric == "sqeuclidean", "[cdist] no such metric: got '{}'", metric);
  const TensorHandle d = fn::cdist(c.input(0), c.input(1), 2.0, "donot_use_mm_for_euclid_dist");
  return metric == "euclidean" ? d : d * d;
}
Results bias_softmax(Call& c) {
  const TensorHandle x = c.input(0) + c.input(1);
  const int axis = normalise_dim(c.integer("axis", 1), x.rank());
  return axis + 1 < x.rank() ? fn::reshape(fn::softmax(fn::flatten(x, axis), -1), x.shape()) : fn::softmax(x, -1);
}
Results inverse(Call& c) { return fn::inverse(c.input(0)); }
Results expand_dims(Call& c) { return fn::unsqueeze(c.input(0), c.read_integer(1)); }

constexpr std::string_view kMicrosoft = "com.microsoft";
constexpr Operator kRows[] = {
    {kMicrosoft, "Gelu", 1, gelu},
    {kMicrosoft, "QuickGelu", 1, quick_gelu},
    {kMicrosoft, "BiasGelu", 1, bias_gelu},
    {kMicrosoft, "FastGelu", 1, fast_gelu},
    {kMicrosoft, "BiasAdd", 1, bias_add},
    {kMicrosoft, "FusedMatMul", 1, fused_matmul},
    {kMicrosoft, "FusedMatMulActivation", 1, fused_matmul},
    {kMicrosoft, "TransposeMatMul", 1, fused_matmul},
    {kMicrosoft, "FusedGemm", 1, fused_gemm},
    {kMicrosoft, "FusedConv", 1, fused_conv},
    {kMicrosoft, "MatMulNBits", 1, matmul_nbits},
    {kMicrosoft, "SkipLayerNormalization", 1, skip_layer_norm},
    {kMicrosoft, "SkipSimplifiedLayerNormalization", 1, skip_rms_norm},
    {"", "SimplifiedLayerNormalization", 1, simplified_layer_norm},
    {kMicrosoft, "EmbedLayerNormalization", 1, embed_layer_norm},
    {kMicrosoft, "Attention", 1, attention},
    {kMicrosoft, "QAttention", 1, quantised_attention},
    {kMicrosoft, "MultiHeadAttention", 1, multi_head_attention},
    {kMicrosoft, "GroupQueryAttention", 1, group_query_attention, inputs_at(6)},
    {kMicrosoft, "RotaryEmbedding", 1, rotary_embedding},
    {kMicrosoft, "CDist", 1, cdist},
    {kMicrosoft, "BiasSoftmax", 1, bias_softmax},
    {kMicrosoft, "Inverse", 1, inverse},
    {kMicrosoft, "ExpandDims", 1, expand_dims, inputs_at(1)},
};

}  // namespace

std::span<const Operator> microsoft_operators() { return kRows; }

}  // namespace pyburn::onnx
