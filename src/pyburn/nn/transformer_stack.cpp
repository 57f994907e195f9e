#include "pyburn/nn/transformer_stack.h"

#include "pyburn/nn/call.h"
#include "pyburn/nn/init.h"
#include "pyburn/nn/norm.h"
#include "pyburn/nn/parts.h"
#include "pyburn/nn/sequential.h"

namespace pyburn::nn {
namespace {

template <class L>
void build(Module& stack, const TransformerStackConfig& c, const Placement& p) {
  require<ValueError>(c.num_layers >= 0, "num_layers must not be negative: got {}", c.num_layers);
  const auto layers = make_ref<Sequential>();
  for (int64_t i = 0; i < c.num_layers; ++i) layers->append(make_ref<L>(c.layer, p));
  stack.register_module("layers", layers);
  const LayerNormConfig norm{.normalized_shape = {c.layer.d_model}, .eps = c.layer.layer_norm_eps, .bias = c.layer.bias};
  stack.register_module("norm", c.norm ? make_ref<LayerNorm>(norm, p) : Ref<LayerNorm>());
}

// step(layer, number, x) for each layer, then the norm.
template <class L, class Step>
TensorHandle run(Module& stack, TensorHandle x, Step step) {
  size_t i = 0;
  for (const auto& [name, module] : child(stack, "layers").named_children()) {
    L* layer = dynamic_cast<L*>(module.get());
    require<ValueError>(layer, "expected layers of one kind in {}: got {}", stack.type_name(), module->type_name());
    x = step(*layer, i++, x);
  }
  const Entry* norm = stack.find("norm");
  return norm && norm->module ? norm->module->call(x) : x;
}

TransformerLayerCache& cache_of(TransformerCache& cache, size_t layer) {
  if (cache.size() <= layer) cache.resize(layer + 1);
  return cache[layer];
}

}  // namespace

TransformerEncoder::TransformerEncoder(const TransformerStackConfig& config, Placement p) {
  build<TransformerEncoderLayer>(*this, config, p);
}

TensorHandle TransformerEncoder::forward(const TensorHandle& src, const AttentionMasks& masks) {
  return run<TransformerEncoderLayer>(
      *this, src, [&](TransformerEncoderLayer& layer, size_t, const TensorHandle& x) { return nn::call(layer, x, masks); });
}

TensorHandle TransformerEncoder::forward_cached(const TensorHandle& src, TransformerCache& cache) {
  return run<TransformerEncoderLayer>(*this, src,
      [&](TransformerEncoderLayer& layer, size_t i, const TensorHandle& x) { return layer.forward_cached(x, cache_of(cache, i)); });
}

TransformerDecoder::TransformerDecoder(const TransformerStackConfig& config, Placement p) {
  build<TransformerDecoderLayer>(*this, config, p);
}

TensorHandle TransformerDecoder::forward(
    const TensorHandle& tgt, const TensorHandle& memory, const AttentionMasks& tgt_masks, const AttentionMasks& memory_masks) {
  return run<TransformerDecoderLayer>(*this, tgt,
      [&](TransformerDecoderLayer& layer, size_t, const TensorHandle& x) { return nn::call(layer, x, memory, tgt_masks, memory_masks); });
}

TensorHandle TransformerDecoder::forward_cached(const TensorHandle& tgt, const TensorHandle& memory, TransformerCache& cache) {
  return run<TransformerDecoderLayer>(*this, tgt,
      [&](TransformerDecoderLayer& layer, size_t i, const TensorHandle& x) { return layer.forward_cached(x, memory, cache_of(cache, i)); });
}

Transformer::Transformer(TransformerConfig config, Placement p) : Layer(std::move(config)) {
  const TransformerConfig& c = config_;
  const TransformerLayerConfig layer{.d_model = c.d_model,
      .nhead = c.nhead,
      .dim_feedforward = c.dim_feedforward,
      .dropout = c.dropout,
      .activation = c.activation,
      .layer_norm_eps = c.layer_norm_eps,
      .batch_first = c.batch_first,
      .norm_first = c.norm_first,
      .bias = c.bias};
  register_module("encoder", make_ref<TransformerEncoder>(TransformerStackConfig{layer, c.num_encoder_layers, true}, p));
  register_module("decoder", make_ref<TransformerDecoder>(TransformerStackConfig{layer, c.num_decoder_layers, true}, p));
  reset_parameters();
}

void Transformer::reset_parameters() {
  for (const TensorHandle& p : parameters())
    if (p.rank() > 1) init::xavier_uniform_(p);
}

TensorHandle Transformer::forward(const TensorHandle& src, const TensorHandle& tgt, const AttentionMasks& src_masks,
    const AttentionMasks& tgt_masks, const AttentionMasks& memory_masks) {
  const int64_t batch = config_.batch_first ? 0 : 1, d = config_.d_model;
  require(src.rank() != 3 || tgt.rank() != 3 || src.shape()[batch] == tgt.shape()[batch], "the batch number of src and tgt must be equal");
  require(src.rank() > 0 && tgt.rank() > 0 && src.shape()[src.rank() - 1] == d && tgt.shape()[tgt.rank() - 1] == d,
      "the feature number of src and tgt must be equal to d_model");
  const TensorHandle memory = nn::call(child_as<TransformerEncoder>(*this, "encoder", "TransformerEncoder"), src, src_masks);
  return nn::call(child_as<TransformerDecoder>(*this, "decoder", "TransformerDecoder"), tgt, memory, tgt_masks, memory_masks);
}

}  // namespace pyburn::nn
