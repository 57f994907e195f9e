// CrossAttention: queries look at a context of another width, with fewer heads for keys and values if wanted; after Burn.
#pragma once
#include "pyburn/nn/attention.h"

namespace pyburn::nn {

struct CrossAttentionConfig {
  int64_t d_model = 1, d_context = 1, n_heads = 1;
  int64_t n_heads_kv = 1;  // divides n_heads: each head of the context serves several of the queries
  int64_t d_head = 1;
  double dropout = 0.1;        // of the weights
  double min_float = -1e4;     // the score of what is masked
  bool quiet_softmax = false;  // weights may sum to less than one: no key need be looked at
  PB_FIELDS(d_model, d_context, n_heads, n_heads_kv, d_head, dropout, min_float, quiet_softmax)
  static constexpr LayerText text{.required = 5, .always = 5};
};

class CrossAttention : public Layer<CrossAttentionConfig> {
 public:
  explicit CrossAttention(CrossAttentionConfig config, Placement placement = {});
  CrossAttention(CrossAttentionConfig config, Unfilled) : Layer(std::move(config)) {}
  // query (N, L, d_model), context (N, S, d_context); mask (N, S), where there is one, is true at what must not be seen.
  TensorHandle forward(const TensorHandle& query, const TensorHandle& context, const TensorHandle& mask = {});
  // The same for a context that stays: its keys and values are computed by the first call.
  TensorHandle forward_cached(const TensorHandle& query, const TensorHandle& context, AttentionCache& cache, const TensorHandle& mask = {});
  PB_MODULE(CrossAttention)

 private:
  AttentionCache seen(const TensorHandle& context);
  TensorHandle attend(const TensorHandle& query, const AttentionCache& context, const TensorHandle& mask);
};

// softmax with one more score of zero, whose weight is left out.
TensorHandle quiet_softmax(const TensorHandle& scores);

}  // namespace pyburn::nn
