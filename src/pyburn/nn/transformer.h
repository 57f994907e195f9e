// The layers of a transformer: attention and a feed-forward network, each added to its input and normalised.
#pragma once
#include "pyburn/nn/attention.h"

namespace pyburn::nn {

struct TransformerLayerConfig {
  int64_t d_model = 1, nhead = 1, dim_feedforward = 2048;
  double dropout = 0.1;
  std::string activation = "relu";  // or 'gelu'; a module of this name takes its place
  double layer_norm_eps = 1e-5;
  bool batch_first = false;
  bool norm_first = false;  // normalise what goes into each part instead of what comes out
  bool bias = true;
  PB_FIELDS(d_model, nhead, dim_feedforward, dropout, activation, layer_norm_eps, batch_first, norm_first, bias)
  static constexpr LayerText text{.required = 2};
};

// What one layer remembers of the tokens so far.
struct TransformerLayerCache {
  AttentionCache self_attn, cross_attn;
  int64_t length() const { return self_attn.length(); }
};

struct AttentionMasks {
  TensorHandle mask, key_padding_mask;
  bool is_causal = false;
};

class TransformerLayer : public Layer<TransformerLayerConfig> {
 public:
  TransformerLayer(TransformerLayerConfig config, Unfilled) : Layer(std::move(config)) {}
  std::string extra_repr() const override { return {}; }

  // How attention is asked of a module that the host calls: one with hooks, or of a class of the host's own.
  using HostAttend = TensorHandle (*)(
      Module&, const TensorHandle& query, const TensorHandle& key, const TensorHandle& value, const AttentionMasks&);
  static HostAttend host_attend;

 protected:
  TransformerLayer(TransformerLayerConfig config, std::initializer_list<const char*> attentions, const Placement& placement);
  // x + part(x), normalised before or after.
  template <class Part>
  TensorHandle with_residual(const TensorHandle& x, int number, Part part);
  TensorHandle attend(const char* name, const TensorHandle& query, const TensorHandle& memory, const AttentionMasks& masks);
  TensorHandle feed_forward(const TensorHandle& x);
  MultiheadAttention& attention(const char* name);
};

class TransformerEncoderLayer : public TransformerLayer {
 public:
  explicit TransformerEncoderLayer(TransformerLayerConfig config, Placement placement = {});
  using TransformerLayer::TransformerLayer;
  TensorHandle forward(const TensorHandle& src) override { return forward(src, AttentionMasks{}); }
  TensorHandle forward(const TensorHandle& src, const AttentionMasks& masks);
  TensorHandle forward_cached(const TensorHandle& src, TransformerLayerCache& cache);  // causal; src: the new tokens alone
  PB_MODULE(TransformerEncoderLayer)
};

class TransformerDecoderLayer : public TransformerLayer {
 public:
  explicit TransformerDecoderLayer(TransformerLayerConfig config, Placement placement = {});
  using TransformerLayer::TransformerLayer;
  TensorHandle forward(
      const TensorHandle& tgt, const TensorHandle& memory, const AttentionMasks& tgt_masks = {}, const AttentionMasks& memory_masks = {});
  TensorHandle forward_cached(const TensorHandle& tgt, const TensorHandle& memory, TransformerLayerCache& cache);
  PB_MODULE(TransformerDecoderLayer)
};

// -inf above the diagonal, 0 elsewhere: no token sees a later one.
TensorHandle square_subsequent_mask(int64_t size, const Placement& placement = {});

}  // namespace pyburn::nn
