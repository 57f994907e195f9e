// MultiheadAttention: attends to keys and values from queries, in several heads.
#pragma once
#include "pyburn/nn/layer.h"

namespace pyburn::nn {

// Options of a call besides query, key and value. Boolean masks are true at masked positions, others are added to the scores.
struct AttentionOptions {
  TensorHandle key_padding_mask;  // (N, S), or (S)
  TensorHandle attn_mask;         // (L, S), or (N * heads, L, S)
  bool need_weights = true, average_attn_weights = true;
  bool is_causal = false;  // a hint that attn_mask is the causal mask, which allows a faster method
};

struct AttentionResult {
  TensorHandle output, weights;  // weights are undefined unless requested
  auto tensors() { return std::tie(output, weights); }
};

struct AttentionParameters {
  TensorHandle in_proj_weight;                               // (3E, E), or absent if query, key and value have separate weights
  TensorHandle q_proj_weight, k_proj_weight, v_proj_weight;  // absent if in_proj_weight is used
  TensorHandle in_proj_bias, bias_k, bias_v, out_weight, out_bias;
  TensorHandle static_k, static_v;  // (N * heads, S, E / heads): replaces the projected keys and values
  int64_t num_heads = 1;
  double dropout = 0;
  bool add_zero_attn = false, training = true, batch_first = false;
};

AttentionResult multi_head_attention(const AttentionParameters& p, const TensorHandle& query, const TensorHandle& key,
    const TensorHandle& value, const AttentionOptions& options);

// Keys and values of the previous tokens, (N, heads, S, E / heads), so that each new token costs one row.
struct AttentionCache {
  TensorHandle key, value;
  int64_t length() const { return key.defined() ? key.shape()[2] : 0; }
};

struct MultiheadAttentionConfig {
  int64_t embed_dim = 1, num_heads = 1;
  double dropout = 0;  // dropout of the weights
  bool bias = true, add_bias_kv = false, add_zero_attn = false;
  std::optional<Scalar> kdim, vdim;  // feature sizes of keys and values; absent: embed_dim
  bool batch_first = false;
  PB_FIELDS(embed_dim, num_heads, dropout, bias, add_bias_kv, add_zero_attn, kdim, vdim, batch_first)
  static constexpr LayerText text{.required = 2};
};

class MultiheadAttention : public Layer<MultiheadAttentionConfig> {
 public:
  explicit MultiheadAttention(MultiheadAttentionConfig config, Placement placement = {});
  MultiheadAttention(MultiheadAttentionConfig config, Unfilled) : Layer(std::move(config)) {}
  void reset_parameters();
  AttentionResult forward(
      const TensorHandle& query, const TensorHandle& key, const TensorHandle& value, const AttentionOptions& options = {});
  // Causal self-attention for tokens that follow those in the cache, which grows.
  TensorHandle forward_cached(const TensorHandle& tokens, AttentionCache& cache);
  // Attention to a constant memory: the first call computes and caches its keys and values.
  TensorHandle forward_cached(const TensorHandle& tokens, const TensorHandle& memory, AttentionCache& cache);
  PB_MODULE(MultiheadAttention)
  std::string extra_repr() const override { return {}; }

 private:
  AttentionParameters current_parameters();
  TensorHandle attend(const AttentionParameters& p, const TensorHandle& query, const AttentionCache& cache, const TensorHandle& mask);
};

}  // namespace pyburn::nn
