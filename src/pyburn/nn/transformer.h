// Transformer layers: attention and a feed-forward network, each with a residual connection and normalisation.
#pragma once
#include "pyburn/nn/attention.h"

namespace pyburn::nn {

struct TransformerLayerConfig {
  int64_t d_model = 1, nhead = 1, dim_feedforward = 2048;
  double dropout = 0.1;
  std::string activation = "relu";  // or 'gelu'; replaced by a module with this name
  double layer_norm_eps = 1e-5;
  bool batch_first = false;
  bool norm_first = false;  // normalise before each block instead of after it
  bool bias = true;
  PB_FIELDS(d_model, nhead, dim_feedforward, dropout, activation, layer_norm_eps, batch_first, norm_first, bias)
  static constexpr LayerText text{.required = 2};
};

// The cached state of one layer.
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

  // Calls attention through the host if it has hooks or is a class of the host.
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
  TensorHandle forward_cached(const TensorHandle& src, TransformerLayerCache& cache);  // causal; src: only the new tokens
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

// The causal mask: -inf above the diagonal, 0 elsewhere.
TensorHandle square_subsequent_mask(int64_t size, const Placement& placement = {});

}  // namespace pyburn::nn
