#include "pyburn/nn/attention.h"

#include <limits>

#include "pyburn/nn/init.h"
#include "pyburn/nn/linear.h"
#include "pyburn/nn/parts.h"
#include "pyburn/ops/generated/attention.h"
#include "pyburn/ops/generated/axes.h"
#include "pyburn/ops/generated/dropout.h"
#include "pyburn/ops/generated/fill.h"
#include "pyburn/ops/generated/join.h"
#include "pyburn/ops/generated/matmul.h"
#include "pyburn/ops/generated/movement.h"
#include "pyburn/ops/generated/pad.h"
#include "pyburn/ops/generated/pointwise.h"
#include "pyburn/ops/generated/rearrange.h"
#include "pyburn/ops/generated/reduce.h"
#include "pyburn/ops/generated/softmax.h"
#include "pyburn/ops/operators.h"
#include "pyburn/support/assertion.h"

namespace pyburn::nn {
namespace {

struct Projected {
  TensorHandle q, k, v;  // (N, heads, tokens, features)
};

// Row i of three: the weight or bias of query, key or value.
TensorHandle third(const TensorHandle& stacked, int64_t i) {
  if (!stacked.defined()) return {};
  const int64_t rows = stacked.shape()[0] / 3;
  return fn::narrow(stacked, 0, i * rows, rows);
}

TensorHandle project(const AttentionParameters& p, const TensorHandle& x, int64_t i) {
  const TensorHandle* own[] = {&p.q_proj_weight, &p.k_proj_weight, &p.v_proj_weight};
  return fn::linear(x, p.in_proj_weight.defined() ? third(p.in_proj_weight, i) : *own[i], third(p.in_proj_bias, i));
}

// Queries, keys and values of tokens (N, L, E): in one product where all three come from the same tensor.
Tensors project_all(const AttentionParameters& p, const TensorHandle& q, const TensorHandle& k, const TensorHandle& v, bool same) {
  if (!same || !p.in_proj_weight.defined()) return {project(p, q, 0), project(p, k, 1), project(p, v, 2)};
  const TensorHandle all = fn::linear(q, p.in_proj_weight, p.in_proj_bias);
  const int64_t features = all.shape()[2] / 3;
  return {fn::narrow(all, 2, 0, features), fn::narrow(all, 2, features, features), fn::narrow(all, 2, 2 * features, features)};
}

// (N, tokens, E) -> (N, heads, tokens, E / heads)
TensorHandle split_heads(const TensorHandle& x, int64_t heads) {
  return fn::transpose(fn::unflatten(x, 2, {heads, x.shape()[2] / heads}), 1, 2);
}
TensorHandle join_heads(const TensorHandle& x) { return fn::flatten(fn::transpose(x, 1, 2), 2, 3); }

// A mask as numbers to be added.
TensorHandle additive(const TensorHandle& mask, const TensorHandle& like, const char* name) {
  if (!mask.defined() || is_floating(mask.dtype())) return mask;
  require<DTypeError>(mask.dtype() == DType::boolean, "only bool and floating types of {} are supported: got {}", name, mask.dtype());
  return fn::masked_fill(fn::zeros(mask.shape(), like.dtype(), &like.device()), mask, -std::numeric_limits<double>::infinity());
}

// One more key that every query may see.
TensorHandle one_more(const TensorHandle& mask) { return mask.defined() ? fn::pad(mask, {0, 1}) : mask; }

// Both masks as one that fits scores (N, heads, L, S).
TensorHandle joint_mask(const TensorHandle& attention, const TensorHandle& padding, int64_t batch, int64_t heads) {
  TensorHandle mask = attention;
  if (mask.defined() && mask.rank() == 3) mask = fn::unflatten(mask, 0, {batch, heads});
  if (!padding.defined()) return mask;
  const TensorHandle of_keys = fn::unsqueeze(fn::unsqueeze(padding, 1), 1);
  return mask.defined() ? mask + of_keys : of_keys;
}

// Users may replace a parameter by any tensor.
void check_parameters(const AttentionParameters& p) {
  const bool stacked = p.in_proj_weight.defined();
  for (const TensorHandle* w : {stacked ? &p.in_proj_weight : &p.q_proj_weight, stacked ? &p.in_proj_weight : &p.k_proj_weight,
           stacked ? &p.in_proj_weight : &p.v_proj_weight, &p.out_weight})
    require<ValueError>(
        w->defined() && w->rank() == 2, "expected matrices as weights of attention: got {}", w->defined() ? w->shape() : Shape());
  if (const TensorHandle& bias = p.in_proj_bias; bias.defined())
    require<ValueError>(bias.rank() == 1, "expected a vector as in_proj_bias: got {}", bias.shape());
  const int64_t features = stacked ? p.in_proj_weight.shape()[0] / 3 : p.q_proj_weight.shape()[0];
  require<ValueError>(p.bias_k.defined() == p.bias_v.defined(), "expected both of bias_k and bias_v, or neither");
  require<ValueError>(p.num_heads > 0 && features % p.num_heads == 0, "embed_dim {} not divisible by num_heads {}", features, p.num_heads);
  for (const TensorHandle* fixed : {&p.static_k, &p.static_v})
    if (fixed->defined())
      require<ValueError>(fixed->rank() == 3, "expected static keys and values with 3 dimensions: got {}", fixed->shape());
}

void check_shapes(const TensorHandle& query, const TensorHandle& key, const TensorHandle& value, const AttentionOptions& o) {
  require<AssertionFailed>(query.rank() == 2 || query.rank() == 3,
      "query should be unbatched 2D or batched 3D tensor but received {}-D query tensor", query.rank());
  const char* kind = query.rank() == 3 ? "batched (3-D)" : "unbatched (2-D)";
  require<AssertionFailed>(key.rank() == query.rank() && value.rank() == query.rank(),
      "For {} `query`, expected `key` and `value` to be {}-D but found {}-D and {}-D tensors respectively", kind, query.rank(), key.rank(),
      value.rank());
  if (const TensorHandle& m = o.key_padding_mask; m.defined())
    require<AssertionFailed>(m.rank() == query.rank() - 1,
        "For {} `query`, expected `key_padding_mask` to be `None` or {}-D but found {}-D tensor instead", kind, query.rank() - 1, m.rank());
  if (const TensorHandle& m = o.attn_mask; m.defined())
    require<AssertionFailed>(m.rank() == 2 || m.rank() == 3,
        "For {} `query`, expected `attn_mask` to be `None`, 2-D or 3-D but found {}-D tensor instead", kind, m.rank());
}

void check_masks(const AttentionOptions& o, const Dims& scores, bool alone) {
  const int64_t n = scores[0], heads = scores[1], l = scores[2], s = scores[3];
  if (const TensorHandle& m = o.attn_mask; m.defined()) {
    const Shape wanted = m.rank() == 2 ? Shape(Dims{l, s}) : Shape(Dims{n * heads, l, s});
    require<AssertionFailed>(
        !alone || m.rank() == 2 || m.shape() == wanted, "Expected `attn_mask` shape to be {} but got {}", wanted, m.shape());
    require(m.shape() == wanted, "The shape of the {}D attn_mask is {}, but should be {}.", m.rank(), m.shape(), wanted);
  }
  if (const TensorHandle& m = o.key_padding_mask; m.defined())
    require<AssertionFailed>(m.shape() == Shape(Dims{n, s}), "expected key_padding_mask of shape {}: got {}", Shape(Dims{n, s}), m.shape());
}

// Attention of projected heads, and its weights if requested.
AttentionResult attend_heads(
    const AttentionParameters& p, const Projected& x, const TensorHandle& mask, const AttentionOptions& o, bool causal) {
  const double dropout = p.training ? p.dropout : 0;
  if (!o.need_weights) return {fn::scaled_dot_product_attention(x.q, x.k, x.v, mask, dropout, causal), {}};
  const double scale = 1 / std::sqrt(double(x.q.shape()[3]));
  TensorHandle scores = fn::matmul(x.q * scale, fn::transpose(x.k, 2, 3));
  if (mask.defined()) scores = scores + mask;
  TensorHandle weights = fn::softmax(scores, -1);
  if (dropout > 0) weights = fn::dropout(weights, dropout);
  return {fn::matmul(weights, x.v), o.average_attn_weights ? fn::mean(weights, Dims{1}) : weights};
}

}  // namespace

AttentionResult multi_head_attention(const AttentionParameters& p, const TensorHandle& query, const TensorHandle& key,
    const TensorHandle& value, const AttentionOptions& given) {
  check_parameters(p);
  check_shapes(query, key, value, given);
  require(!given.is_causal || given.attn_mask.defined(), "Need attn_mask if specifying the is_causal hint.");
  AttentionOptions o = given;
  const bool alone = query.rank() == 2;
  const auto batch_first = [&](const TensorHandle& x) { return alone ? fn::unsqueeze(x, 0) : p.batch_first ? x : fn::transpose(x, 0, 1); };
  const TensorHandle q = batch_first(query), k = batch_first(key), v = batch_first(value);
  if (alone && o.key_padding_mask.defined()) o.key_padding_mask = fn::unsqueeze(o.key_padding_mask, 0);
  const int64_t batch = q.shape()[0], heads = p.num_heads, features = q.shape()[2];
  const int64_t stacked = p.in_proj_weight.defined() ? p.in_proj_weight.shape()[1] : p.q_proj_weight.shape()[1];
  require<AssertionFailed>(features == stacked, "was expecting embedding dimension of {}, but got {}", stacked, features);
  require<AssertionFailed>(k.shape()[0] == batch && v.shape()[0] == batch && k.shape()[1] == v.shape()[1],
      "key's and value's sequence and batch dims do not match: got query {}, key {}, value {}", query.shape(), key.shape(), value.shape());
  check_masks(o, {batch, heads, q.shape()[1], p.static_k.defined() ? p.static_k.shape()[1] : k.shape()[1]}, alone);

  const bool hint = o.is_causal && !o.key_padding_mask.defined() && !o.need_weights && !p.bias_k.defined() && !p.add_zero_attn;
  TensorHandle attention = hint ? TensorHandle() : additive(o.attn_mask, q, "attn_mask");
  TensorHandle padding = additive(o.key_padding_mask, q, "key_padding_mask");
  const Tensors projected = project_all(p, q, k, v, query.is_same(key) && key.is_same(value));
  TensorHandle keys = projected[1], values = projected[2];
  if (p.bias_k.defined()) {
    keys = fn::cat({keys, fn::expand(p.bias_k, {batch, 1, features})}, 1);
    values = fn::cat({values, fn::expand(p.bias_v, {batch, 1, features})}, 1);
    attention = one_more(attention), padding = one_more(padding);
  }
  Projected x{split_heads(projected[0], heads), split_heads(keys, heads), split_heads(values, heads)};
  if (p.static_k.defined()) x.k = fn::unflatten(p.static_k, 0, {batch, heads});
  if (p.static_v.defined()) x.v = fn::unflatten(p.static_v, 0, {batch, heads});
  if (p.add_zero_attn) {
    const TensorHandle zero = fn::zeros({batch, heads, 1, features / heads}, q.dtype(), &q.device());
    x.k = fn::cat({x.k, zero}, 2), x.v = fn::cat({x.v, zero}, 2);
    attention = one_more(attention), padding = one_more(padding);
  }
  AttentionResult result = attend_heads(p, x, joint_mask(attention, padding, batch, heads), o, hint);
  TensorHandle y = fn::linear(join_heads(result.output), p.out_weight, p.out_bias);
  if (alone) return {fn::select(y, 0, 0), result.weights.defined() ? fn::select(result.weights, 0, 0) : TensorHandle()};
  return {p.batch_first ? y : fn::transpose(y, 0, 1), result.weights};
}

MultiheadAttention::MultiheadAttention(MultiheadAttentionConfig config, Placement p) : Layer(std::move(config)) {
  MultiheadAttentionConfig& c = config_;
  require<ValueError>(c.embed_dim > 0 && c.num_heads > 0,
      "embed_dim and num_heads must be greater than 0, got embed_dim={} and num_heads={} instead", c.embed_dim, c.num_heads);
  require<AssertionFailed>(
      c.embed_dim % c.num_heads == 0, "embed_dim must be divisible by num_heads: got {} and {}", c.embed_dim, c.num_heads);
  check_size(c.embed_dim, "embed_dim");
  const int64_t e = c.embed_dim;
  if (!c.kdim) c.kdim = e;
  if (!c.vdim) c.vdim = e;
  const int64_t kdim = c.kdim->to_int(), vdim = c.vdim->to_int();
  const bool same = kdim == e && vdim == e;
  const auto parameter = [&](const char* name, bool there, const Dims& size) {
    register_parameter(name, there ? Parameter(fn::empty(size, p.dtype, p.device)) : TensorHandle());
  };
  parameter("in_proj_weight", same, {3 * e, e});
  parameter("q_proj_weight", !same, {e, e});
  parameter("k_proj_weight", !same, {e, kdim});
  parameter("v_proj_weight", !same, {e, vdim});
  parameter("in_proj_bias", c.bias, {3 * e});
  parameter("bias_k", c.add_bias_kv, {1, 1, e});
  parameter("bias_v", c.add_bias_kv, {1, 1, e});
  register_module("out_proj", make_ref<NonDynamicallyQuantizableLinear>(e, e, c.bias, p));
  reset_parameters();
}

void MultiheadAttention::reset_parameters() {
  for (const char* name : {"in_proj_weight", "q_proj_weight", "k_proj_weight", "v_proj_weight"})
    if (const TensorHandle& weight = tensor(name); weight.defined()) init::xavier_uniform_(weight);
  if (const TensorHandle& bias = tensor("in_proj_bias"); bias.defined()) {
    init::constant_(bias, 0);
    init::constant_(child(*this, "out_proj").tensor("bias"), 0);
  }
  for (const char* name : {"bias_k", "bias_v"})
    if (const TensorHandle& bias = tensor(name); bias.defined()) init::xavier_normal_(bias);
}

AttentionParameters MultiheadAttention::current_parameters() {
  const Module& out = child(*this, "out_proj");
  AttentionParameters p;
  p.in_proj_weight = tensor("in_proj_weight");
  p.q_proj_weight = tensor("q_proj_weight"), p.k_proj_weight = tensor("k_proj_weight"), p.v_proj_weight = tensor("v_proj_weight");
  p.in_proj_bias = tensor("in_proj_bias"), p.bias_k = tensor("bias_k"), p.bias_v = tensor("bias_v");
  p.out_weight = out.tensor("weight"), p.out_bias = out.tensor("bias");
  p.num_heads = config_.num_heads, p.dropout = config_.dropout, p.add_zero_attn = config_.add_zero_attn;
  p.training = training(), p.batch_first = config_.batch_first;
  return p;
}

AttentionResult MultiheadAttention::forward(
    const TensorHandle& query, const TensorHandle& key, const TensorHandle& value, const AttentionOptions& options) {
  return multi_head_attention(current_parameters(), query, key, value, options);
}

TensorHandle MultiheadAttention::attend(
    const AttentionParameters& p, const TensorHandle& query, const AttentionCache& cache, const TensorHandle& mask) {
  const TensorHandle q = split_heads(query, p.num_heads);
  const TensorHandle y = join_heads(fn::scaled_dot_product_attention(q, cache.key, cache.value, mask, p.training ? p.dropout : 0));
  const TensorHandle out = fn::linear(y, p.out_weight, p.out_bias);
  return p.batch_first ? out : fn::transpose(out, 0, 1);
}

TensorHandle MultiheadAttention::forward_cached(const TensorHandle& tokens, AttentionCache& cache) {
  const AttentionParameters p = current_parameters();
  check_parameters(p);
  require<ValueError>(!p.bias_k.defined() && !p.add_zero_attn, "attention with a cache does not support add_bias_kv and add_zero_attn");
  require(tokens.rank() == 3, "expected batched tokens: got {}", tokens.shape());
  const TensorHandle x = p.batch_first ? tokens : fn::transpose(tokens, 0, 1);
  const Tensors projected = project_all(p, x, x, x, true);
  const TensorHandle k = split_heads(projected[1], p.num_heads), v = split_heads(projected[2], p.num_heads);
  const int64_t before = cache.length(), fresh = x.shape()[1];
  cache.key = before ? fn::cat({cache.key, k}, 2) : k;
  cache.value = before ? fn::cat({cache.value, v}, 2) : v;
  TensorHandle mask;  // true: may be seen
  if (fresh > 1) mask = fn::tril(fn::full({fresh, before + fresh}, true, DType::boolean, &x.device()), before);
  return attend(p, projected[0], cache, mask);
}

TensorHandle MultiheadAttention::forward_cached(const TensorHandle& tokens, const TensorHandle& memory, AttentionCache& cache) {
  const AttentionParameters p = current_parameters();
  check_parameters(p);
  require<ValueError>(!p.bias_k.defined() && !p.add_zero_attn, "attention with a cache does not support add_bias_kv and add_zero_attn");
  require(tokens.rank() == 3 && memory.rank() == 3, "expected batched tokens and memory: got {} and {}", tokens.shape(), memory.shape());
  const auto batch_first = [&](const TensorHandle& x) { return p.batch_first ? x : fn::transpose(x, 0, 1); };
  if (!cache.key.defined()) {
    const TensorHandle m = batch_first(memory);
    cache = {split_heads(project(p, m, 1), p.num_heads), split_heads(project(p, m, 2), p.num_heads)};
  }
  return attend(p, project(p, batch_first(tokens), 0), cache, {});
}

}  // namespace pyburn::nn
