#include "pyburn/nn/transformer.h"

#include <limits>

#include "pyburn/nn/call.h"
#include "pyburn/nn/dropout.h"
#include "pyburn/nn/linear.h"
#include "pyburn/nn/norm.h"
#include "pyburn/nn/parts.h"
#include "pyburn/ops/generated/activation.h"
#include "pyburn/ops/generated/fill.h"
#include "pyburn/ops/generated/rearrange.h"
#include "pyburn/ops/operators.h"

namespace pyburn::nn {

TransformerLayer::HostAttend TransformerLayer::host_attend = nullptr;

TransformerLayer::TransformerLayer(TransformerLayerConfig config, std::initializer_list<const char*> attentions, const Placement& p)
    : Layer(std::move(config)) {
  const TransformerLayerConfig& c = config_;
  require<ValueError>(c.activation == "relu" || c.activation == "gelu", "activation should be relu/gelu, not {}", c.activation);
  const int parts = int(attentions.size()) + 1;
  const auto dropout = [&] {
    DropoutFunction f;
    f.p = c.dropout;
    return make_ref<Dropout>(f);
  };
  for (const char* name : attentions)
    register_module(
        name, make_ref<MultiheadAttention>(
                  MultiheadAttentionConfig{
                      .embed_dim = c.d_model, .num_heads = c.nhead, .dropout = c.dropout, .bias = c.bias, .batch_first = c.batch_first},
                  p));
  register_module("linear1", make_ref<Linear>(c.d_model, c.dim_feedforward, c.bias, p));
  register_module("dropout", dropout());
  register_module("linear2", make_ref<Linear>(c.dim_feedforward, c.d_model, c.bias, p));
  for (int i = 1; i <= parts; ++i)
    register_module("norm" + std::to_string(i),
        make_ref<LayerNorm>(LayerNormConfig{.normalized_shape = {c.d_model}, .eps = c.layer_norm_eps, .bias = c.bias}, p));
  for (int i = 1; i <= parts; ++i) register_module("dropout" + std::to_string(i), dropout());
}

template <class Part>
TensorHandle TransformerLayer::with_residual(const TensorHandle& x, int number, Part part) {
  const std::string digit = std::to_string(number);
  const auto run = [&](const TensorHandle& input) { return child(*this, "dropout" + digit).call(part(input)); };
  Module& norm = child(*this, "norm" + digit);
  return config_.norm_first ? x + run(norm.call(x)) : norm.call(x + run(x));
}

MultiheadAttention& TransformerLayer::attention(const char* name) {
  return child_as<MultiheadAttention>(*this, name, "MultiheadAttention");
}

TensorHandle TransformerLayer::attend(const char* name, const TensorHandle& query, const TensorHandle& memory, const AttentionMasks& m) {
  if (Module& module = child(*this, name); module.calls_host() && host_attend) return host_attend(module, query, memory, memory, m);
  const AttentionOptions options{
      .key_padding_mask = m.key_padding_mask, .attn_mask = m.mask, .need_weights = false, .is_causal = m.is_causal};
  return nn::call(attention(name), query, memory, memory, options).output;
}

TensorHandle TransformerLayer::feed_forward(const TensorHandle& x) {
  TensorHandle inner = child(*this, "linear1").call(x);
  if (const Entry* e = find("activation"); e && e->module) inner = e->module->call(inner);
  else inner = config_.activation == "relu" ? fn::relu(inner) : fn::gelu(inner);
  return child(*this, "linear2").call(child(*this, "dropout").call(inner));
}

TransformerEncoderLayer::TransformerEncoderLayer(TransformerLayerConfig config, Placement p)
    : TransformerLayer(std::move(config), {"self_attn"}, p) {}

TensorHandle TransformerEncoderLayer::forward(const TensorHandle& src, const AttentionMasks& masks) {
  const TensorHandle x = with_residual(src, 1, [&](const TensorHandle& y) { return attend("self_attn", y, y, masks); });
  return with_residual(x, 2, [&](const TensorHandle& y) { return feed_forward(y); });
}

TensorHandle TransformerEncoderLayer::forward_cached(const TensorHandle& src, TransformerLayerCache& cache) {
  const TensorHandle x =
      with_residual(src, 1, [&](const TensorHandle& y) { return attention("self_attn").forward_cached(y, cache.self_attn); });
  return with_residual(x, 2, [&](const TensorHandle& y) { return feed_forward(y); });
}

TransformerDecoderLayer::TransformerDecoderLayer(TransformerLayerConfig config, Placement p)
    : TransformerLayer(std::move(config), {"self_attn", "multihead_attn"}, p) {}

TensorHandle TransformerDecoderLayer::forward(
    const TensorHandle& tgt, const TensorHandle& memory, const AttentionMasks& tgt_masks, const AttentionMasks& memory_masks) {
  TensorHandle x = with_residual(tgt, 1, [&](const TensorHandle& y) { return attend("self_attn", y, y, tgt_masks); });
  x = with_residual(x, 2, [&](const TensorHandle& y) { return attend("multihead_attn", y, memory, memory_masks); });
  return with_residual(x, 3, [&](const TensorHandle& y) { return feed_forward(y); });
}

TensorHandle TransformerDecoderLayer::forward_cached(const TensorHandle& tgt, const TensorHandle& memory, TransformerLayerCache& cache) {
  TensorHandle x = with_residual(tgt, 1, [&](const TensorHandle& y) { return attention("self_attn").forward_cached(y, cache.self_attn); });
  x = with_residual(x, 2, [&](const TensorHandle& y) { return attention("multihead_attn").forward_cached(y, memory, cache.cross_attn); });
  return with_residual(x, 3, [&](const TensorHandle& y) { return feed_forward(y); });
}

TensorHandle square_subsequent_mask(int64_t size, const Placement& p) {
  return fn::triu(fn::full({size, size}, -std::numeric_limits<double>::infinity(), p.dtype.value_or(DType::float32), p.device), 1);
}

}  // namespace pyburn::nn
