// CrossAttention: attention from queries to a context of another width, with optional grouped key and value heads; as in Burn.
#pragma once
#include "pyburn/nn/attention.h"

namespace pyburn::nn {

struct CrossAttentionConfig {
  int64_t d_model = 1, d_context = 1, n_heads = 1;
  int64_t n_heads_kv = 1;  // divides n_heads: each key and value head serves several query heads
  int64_t d_head = 1;
  double dropout = 0.1;        // dropout of the weights
  double min_float = -1e4;     // the score of masked positions
  bool quiet_softmax = false;  // weights may sum to less than one: no key needs to be attended to
  PB_FIELDS(d_model, d_context, n_heads, n_heads_kv, d_head, dropout, min_float, quiet_softmax)
  static constexpr LayerText text{.required = 5, .always = 5};
};

class CrossAttention : public Layer<CrossAttentionConfig> {
 public:
  explicit CrossAttention(CrossAttentionConfig config, Placement placement = {});
  CrossAttention(CrossAttentionConfig config, Unfilled) : Layer(std::move(config)) {}
  // query (N, L, d_model), context (N, S, d_context); the optional mask (N, S) is true at masked positions.
  TensorHandle forward(const TensorHandle& query, const TensorHandle& context, const TensorHandle& mask = {});
  // As above for a constant context: the first call computes and caches its keys and values.
  TensorHandle forward_cached(const TensorHandle& query, const TensorHandle& context, AttentionCache& cache, const TensorHandle& mask = {});
  PB_MODULE(CrossAttention)

 private:
  AttentionCache seen(const TensorHandle& context);
  TensorHandle attend(const TensorHandle& query, const AttentionCache& context, const TensorHandle& mask);
};

// softmax with an additional score of zero, whose weight is dropped.
TensorHandle quiet_softmax(const TensorHandle& scores);

}  // namespace pyburn::nn
