// TransformerEncoder and TransformerDecoder: a stack of equal layers with an optional final norm; and Transformer, both combined.
#pragma once
#include <vector>

#include "pyburn/nn/transformer.h"

namespace pyburn::nn {

struct TransformerStackConfig {
  TransformerLayerConfig layer;
  int64_t num_layers = 1;
  bool norm = false;  // LayerNorm after the last layer
};
using TransformerCache = std::vector<TransformerLayerCache>;  // one per layer; initially empty

class TransformerEncoder : public Module {
 public:
  explicit TransformerEncoder(const TransformerStackConfig& config, Placement placement = {});
  TensorHandle forward(const TensorHandle& src) override { return forward(src, AttentionMasks{}); }
  TensorHandle forward(const TensorHandle& src, const AttentionMasks& masks);
  TensorHandle forward_cached(const TensorHandle& src, TransformerCache& cache);  // causal; src: only the new tokens
  PB_MODULE(TransformerEncoder)
};

class TransformerDecoder : public Module {
 public:
  explicit TransformerDecoder(const TransformerStackConfig& config, Placement placement = {});
  TensorHandle forward(
      const TensorHandle& tgt, const TensorHandle& memory, const AttentionMasks& tgt_masks = {}, const AttentionMasks& memory_masks = {});
  TensorHandle forward_cached(const TensorHandle& tgt, const TensorHandle& memory, TransformerCache& cache);
  PB_MODULE(TransformerDecoder)
};

struct TransformerConfig {
  int64_t d_model = 512, nhead = 8, num_encoder_layers = 6, num_decoder_layers = 6, dim_feedforward = 2048;
  double dropout = 0.1;
  std::string activation = "relu";  // or 'gelu'
  double layer_norm_eps = 1e-5;
  bool batch_first = false, norm_first = false, bias = true;
  PB_FIELDS(d_model, nhead, num_encoder_layers, num_decoder_layers, dim_feedforward, dropout, activation, layer_norm_eps, batch_first,
      norm_first, bias)
  static constexpr LayerText text{.printed = false};
};

// An encoder, and a decoder that attends to its output.
class Transformer : public Layer<TransformerConfig> {
 public:
  explicit Transformer(TransformerConfig config = {}, Placement placement = {});
  using Module::forward;
  TensorHandle forward(const TensorHandle& src, const TensorHandle& tgt, const AttentionMasks& src_masks = {},
      const AttentionMasks& tgt_masks = {}, const AttentionMasks& memory_masks = {});
  void reset_parameters();  // matrices are initialised with xavier_uniform
  PB_MODULE(Transformer)
};

}  // namespace pyburn::nn
