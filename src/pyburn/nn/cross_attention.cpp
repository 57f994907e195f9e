#include "pyburn/nn/cross_attention.h"

#include <cmath>

#include "pyburn/nn/dropout.h"
#include "pyburn/nn/linear.h"
#include "pyburn/nn/parts.h"
#include "pyburn/ops/generated/axes.h"
#include "pyburn/ops/generated/join.h"
#include "pyburn/ops/generated/matmul.h"
#include "pyburn/ops/generated/movement.h"
#include "pyburn/ops/generated/pad.h"
#include "pyburn/ops/generated/pointwise.h"
#include "pyburn/ops/generated/rearrange.h"
#include "pyburn/ops/generated/softmax.h"
#include "pyburn/ops/operators.h"

namespace pyburn::nn {
namespace {

// (N, tokens, heads * features) -> (N, heads, tokens, features)
TensorHandle split_heads(const TensorHandle& x, int64_t heads) {
  return fn::transpose(fn::unflatten(x, 2, {heads, x.shape()[2] / heads}), 1, 2);
}

}  // namespace

TensorHandle quiet_softmax(const TensorHandle& scores) {
  const TensorHandle weights = fn::softmax(fn::pad(scores, {0, 1}), -1);
  return fn::narrow(weights, -1, 0, scores.shape()[scores.rank() - 1]);
}

CrossAttention::CrossAttention(CrossAttentionConfig config, Placement p) : Layer(std::move(config)) {
  const CrossAttentionConfig& c = config_;
  for (auto [size, name] : {std::pair{c.d_model, "d_model"}, {c.d_context, "d_context"}, {c.n_heads, "n_heads"},
           {c.n_heads_kv, "n_heads_kv"}, {c.d_head, "d_head"}})
    check_size(size, name);
  require<ValueError>(c.n_heads % c.n_heads_kv == 0, "n_heads must be divisible by n_heads_kv: got {} and {}", c.n_heads, c.n_heads_kv);
  check_size(c.n_heads * c.d_head, "n_heads * d_head");
  register_module("query", make_ref<Linear>(c.d_model, c.n_heads * c.d_head, true, p));
  register_module("key", make_ref<Linear>(c.d_context, c.n_heads_kv * c.d_head, true, p));
  register_module("value", make_ref<Linear>(c.d_context, c.n_heads_kv * c.d_head, true, p));
  register_module("output", make_ref<Linear>(c.n_heads * c.d_head, c.d_model, true, p));
  DropoutFunction dropout;
  dropout.p = c.dropout;
  register_module("dropout", make_ref<Dropout>(dropout));
}

AttentionCache CrossAttention::seen(const TensorHandle& context) {
  require(context.rank() == 3 && context.shape()[2] == config_.d_context, "expected a context (N, S, {}): got {}", config_.d_context,
      context.shape());
  return {split_heads(child(*this, "key").call(context), config_.n_heads_kv),
      split_heads(child(*this, "value").call(context), config_.n_heads_kv)};
}

TensorHandle CrossAttention::attend(const TensorHandle& query, const AttentionCache& context, const TensorHandle& mask) {
  const CrossAttentionConfig& c = config_;
  require(query.rank() == 3 && query.shape()[2] == c.d_model, "expected a query (N, L, {}): got {}", c.d_model, query.shape());
  const int64_t batch = query.shape()[0], tokens = query.shape()[1], keys = context.length(), each = c.n_heads / c.n_heads_kv;
  require(context.key.shape()[0] == batch, "expected a context per query: got {} and {}", query.shape(), context.key.shape());
  // Queries of heads that share keys are stacked, so that no key is copied: (N, heads_kv, each * L, d_head).
  const TensorHandle q = split_heads(child(*this, "query").call(query), c.n_heads);
  const TensorHandle shared = fn::reshape(q, {batch, c.n_heads_kv, each * tokens, c.d_head});
  TensorHandle scores = fn::matmul(shared, fn::transpose(context.key, 2, 3)) * (1 / std::sqrt(double(c.d_head)));
  if (mask.defined()) {
    require(mask.shape() == Shape(Dims{batch, keys}), "expected a mask {}: got {}", Shape(Dims{batch, keys}), mask.shape());
    scores = fn::masked_fill(scores, fn::reshape(mask, {batch, 1, 1, keys}), c.min_float);
  }
  const TensorHandle weights = child(*this, "dropout").call(c.quiet_softmax ? quiet_softmax(scores) : fn::softmax(scores, -1));
  const TensorHandle y = fn::reshape(fn::matmul(weights, context.value), {batch, c.n_heads, tokens, c.d_head});
  return child(*this, "output").call(fn::flatten(fn::transpose(y, 1, 2), 2, 3));
}

TensorHandle CrossAttention::forward(const TensorHandle& query, const TensorHandle& context, const TensorHandle& mask) {
  return attend(query, seen(context), mask);
}

TensorHandle CrossAttention::forward_cached(
    const TensorHandle& query, const TensorHandle& context, AttentionCache& cache, const TensorHandle& mask) {
  if (!cache.key.defined()) cache = seen(context);
  return attend(query, cache, mask);
}

}  // namespace pyburn::nn
