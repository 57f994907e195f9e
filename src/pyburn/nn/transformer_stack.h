// TransformerEncoder and TransformerDecoder: layers of one configuration, one after another, and a norm after the last.
#pragma once
#include <vector>

#include "pyburn/nn/transformer.h"

namespace pyburn::nn {

struct TransformerStackConfig {
  TransformerLayerConfig layer;
  int64_t num_layers = 1;
  bool norm = false;  // LayerNorm after the last layer
};
using TransformerCache = std::vector<TransformerLayerCache>;  // one per layer; empty in the beginning

class TransformerEncoder : public Module {
 public:
  explicit TransformerEncoder(const TransformerStackConfig& config, Placement placement = {});
  TensorHandle forward(const TensorHandle& src) override { return forward(src, AttentionMasks{}); }
  TensorHandle forward(const TensorHandle& src, const AttentionMasks& masks);
  TensorHandle forward_cached(const TensorHandle& src, TransformerCache& cache);  // causal; src: the new tokens alone
  std::string type_name() const override { return "TransformerEncoder"; }
};

class TransformerDecoder : public Module {
 public:
  explicit TransformerDecoder(const TransformerStackConfig& config, Placement placement = {});
  TensorHandle forward(
      const TensorHandle& tgt, const TensorHandle& memory, const AttentionMasks& tgt_masks = {}, const AttentionMasks& memory_masks = {});
  TensorHandle forward_cached(const TensorHandle& tgt, const TensorHandle& memory, TransformerCache& cache);
  std::string type_name() const override { return "TransformerDecoder"; }
};

}  // namespace pyburn::nn
