// Attention, the layers of transformers and positions as classes of pyburn.nn.
#include "layer_class.h"
#include "pyburn/nn/cross_attention.h"
#include "pyburn/nn/feed_forward.h"
#include "pyburn/nn/positional.h"
#include "pyburn/nn/transformer.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace pyburn::python {
namespace {

constexpr int64_t large = 1 << 10;  // elements; each goes through many products

// What a transformer asks of an attention that has hooks or is a class of the user's own.
TensorHandle attend_by_python(
    nn::Module& m, const TensorHandle& query, const TensorHandle& key, const TensorHandle& value, const nn::AttentionMasks& masks) {
  const GilAcquire gil;
  const nb::object result = module_object(Ref<nn::Module>(&m))(query, key, value, "key_padding_mask"_a = nb::cast(masks.key_padding_mask),
      "need_weights"_a = false, "attn_mask"_a = nb::cast(masks.mask), "is_causal"_a = masks.is_causal);
  const nb::object output = PyTuple_Check(result.ptr()) && nb::len(result) > 0 ? nb::object(result[0]) : result;
  if (!is_tensor(output.ptr()))
    throw nb::type_error("attention inside a transformer must return a Tensor, or a tuple that begins with one");
  return unwrap(output.ptr());
}

nb::tuple pair(const nn::AttentionResult& r) { return nb::make_tuple(r.output, r.weights); }

void bind_caches(nb::module_& m) {
  const auto forget = [](nn::AttentionCache& c) { c = {}; };
  nb::class_<nn::AttentionCache>(m, "AttentionCache",
      "Keys and values of previous tokens, (N, heads, S, E / heads), for MultiheadAttention.forward_cached.\n\n>>> cache = "
      "pyburn.nn.AttentionCache()\n>>> len(cache)\n0")
      .def(nb::init<>())
      .def_ro("key", &nn::AttentionCache::key)
      .def_ro("value", &nn::AttentionCache::value)
      .def("__len__", &nn::AttentionCache::length)
      .def("reset", forget, "Forgets all tokens.")
      .attr("__module__") = "pyburn.nn";
  nb::class_<nn::TransformerLayerCache>(m, "TransformerLayerCache",
      "The attention caches of one transformer layer, for its forward_cached.\n\n>>> cache = pyburn.nn.TransformerLayerCache()\n>>> "
      "len(cache)\n0")
      .def(nb::init<>())
      .def_ro("self_attn", &nn::TransformerLayerCache::self_attn)
      .def_ro("cross_attn", &nn::TransformerLayerCache::cross_attn)
      .def("__len__", &nn::TransformerLayerCache::length)
      .def(
          "reset", [](nn::TransformerLayerCache& c) { c = {}; }, "Forgets all tokens.")
      .attr("__module__") = "pyburn.nn";
}

void bind_attention(nb::module_& m) {
  using nn::MultiheadAttention;
  const nb::object none = nb::none();
  bind_layer<MultiheadAttention>(m,
      "Applies multi-head attention to query (L, N, E), key and value (S, N, E), or batch first with batch_first=True. Returns the output "
      "and the "
      "attention weights.\n\n>>> attention = pyburn.nn.MultiheadAttention(4, 2)\n>>> x = pyburn.ones(5, 1, 4)\n>>> output, weights = "
      "attention(x, x, x)\n>>> output.shape, weights.shape\n(pyburn.Size([5, 1, 4]), pyburn.Size([1, 5, 5]))")
      .def(
          "forward",
          [](MultiheadAttention& self, const TensorHandle& query, const TensorHandle& key, const TensorHandle& value,
              const TensorHandle& key_padding_mask, bool need_weights, const TensorHandle& attn_mask, bool average_attn_weights,
              bool is_causal) {
            nn::AttentionResult r;
            {
              const ComputesWith released(query.numel() >= large, self, query, key, value);
              r = self.MultiheadAttention::forward(
                  query, key, value, {key_padding_mask, attn_mask, need_weights, average_attn_weights, is_causal});
            }
            return pair(r);
          },
          "query"_a, "key"_a, "value"_a, "key_padding_mask"_a.none() = none, "need_weights"_a = true, "attn_mask"_a.none() = none,
          "average_attn_weights"_a = true, "is_causal"_a = false)
      .def_prop_ro(
          "head_dim", [](nb::object self) { return self.attr("embed_dim").floor_div(self.attr("num_heads")); },
          "The number of features per head.")
      .def(
          "forward_cached",
          [](MultiheadAttention& self, const TensorHandle& tokens, nn::AttentionCache& cache) {
            return self.forward_cached(tokens, cache);
          },
          "tokens"_a, "cache"_a, "Computes causal self-attention of tokens that follow those in the cache, and appends them to it.")
      .def(
          "forward_cached",
          [](MultiheadAttention& self, const TensorHandle& tokens, const TensorHandle& memory, nn::AttentionCache& cache) {
            return self.forward_cached(tokens, memory, cache);
          },
          "tokens"_a, "memory"_a, "cache"_a,
          "Computes attention to a constant memory; the first call stores its keys and values in the cache.");
  m.def("_multi_head_attention_forward",
      [](const TensorHandle& query, const TensorHandle& key, const TensorHandle& value, int64_t num_heads, nb::kwargs rest) {
        const auto tensor = [&](const char* name) {
          const nb::object o = rest[name];
          return o.is_none() ? TensorHandle() : nb::cast<TensorHandle>(o);
        };
        const auto flag = [&](const char* name) { return nb::cast<bool>(rest[name]); };
        nn::AttentionParameters p;
        p.in_proj_weight = tensor("in_proj_weight"), p.in_proj_bias = tensor("in_proj_bias");
        p.q_proj_weight = tensor("q_proj_weight"), p.k_proj_weight = tensor("k_proj_weight"), p.v_proj_weight = tensor("v_proj_weight");
        p.bias_k = tensor("bias_k"), p.bias_v = tensor("bias_v"), p.static_k = tensor("static_k"), p.static_v = tensor("static_v");
        p.out_weight = tensor("out_proj_weight"), p.out_bias = tensor("out_proj_bias");
        p.num_heads = num_heads, p.dropout = nb::cast<double>(rest["dropout_p"]);
        p.add_zero_attn = flag("add_zero_attn"), p.training = flag("training");
        return pair(nn::multi_head_attention(p, query, key, value,
            {tensor("key_padding_mask"), tensor("attn_mask"), flag("need_weights"), flag("average_attn_weights"), flag("is_causal")}));
      });
}

void bind_transformer_layers(nb::module_& m) {
  using nn::TransformerDecoderLayer;
  using nn::TransformerEncoderLayer;
  const nb::object none = nb::none();
  nn::TransformerLayer::host_attend = attend_by_python;
  bind_layer<TransformerEncoderLayer>(m,
      "Applies self-attention and a feed-forward network, each with a residual connection and layer normalisation.\n\n>>> "
      "pyburn.nn.TransformerEncoderLayer(4, 2)(pyburn.ones(5, 1, 4)).shape\npyburn.Size([5, 1, 4])")
      .def(
          "forward",
          [](TransformerEncoderLayer& self, const TensorHandle& src, const TensorHandle& mask, const TensorHandle& padding,
              bool is_causal) {
            const ComputesWith released(src.numel() >= large, self, src);
            return self.TransformerEncoderLayer::forward(src, nn::AttentionMasks{mask, padding, is_causal});
          },
          "src"_a, "src_mask"_a.none() = none, "src_key_padding_mask"_a.none() = none, "is_causal"_a = false)
      .def("forward_cached", &TransformerEncoderLayer::forward_cached, "src"_a, "cache"_a,
          "Computes the outputs of tokens that follow those in the cache, with causal attention.");
  bind_layer<TransformerDecoderLayer>(m,
      "Applies self-attention, cross-attention and a feed-forward network, each with a residual connection and layer normalisation.\n\n>>> "
      "pyburn.nn.TransformerDecoderLayer(4, 2)(pyburn.ones(5, 1, 4), pyburn.ones(3, 1, 4)).shape\npyburn.Size([5, 1, 4])")
      .def(
          "forward",
          [](TransformerDecoderLayer& self, const TensorHandle& tgt, const TensorHandle& memory, const TensorHandle& tgt_mask,
              const TensorHandle& memory_mask, const TensorHandle& tgt_padding, const TensorHandle& memory_padding, bool tgt_is_causal,
              bool memory_is_causal) {
            const ComputesWith released(tgt.numel() >= large, self, tgt, memory);
            return self.TransformerDecoderLayer::forward(
                tgt, memory, {tgt_mask, tgt_padding, tgt_is_causal}, {memory_mask, memory_padding, memory_is_causal});
          },
          "tgt"_a, "memory"_a, "tgt_mask"_a.none() = none, "memory_mask"_a.none() = none, "tgt_key_padding_mask"_a.none() = none,
          "memory_key_padding_mask"_a.none() = none, "tgt_is_causal"_a = false, "memory_is_causal"_a = false)
      .def("forward_cached", &TransformerDecoderLayer::forward_cached, "tgt"_a, "memory"_a, "cache"_a,
          "Computes the outputs of tokens that follow those in the cache, with causal attention.");
  m.def(
      "_square_subsequent_mask",
      [](int64_t size, nb::handle device, nb::handle dtype) {
        nn::Placement p;
        if (!device.is_none()) p.device = &to_device(device.ptr());
        if (!dtype.is_none()) p.dtype = to_dtype(dtype.ptr());
        return nn::square_subsequent_mask(size, p);
      },
      "size"_a, "device"_a.none(), "dtype"_a.none());
}

void bind_cross_attention(nb::module_& m) {
  using nn::CrossAttention;
  bind_layer<CrossAttention>(m,
      "Applies cross-attention from queries (N, L, d_model) to a context (N, S, d_context), with optional grouped key and value heads "
      "(n_heads_kv).\n\n>>> pyburn.nn.CrossAttention(6, 4, 2, 1, 3)(pyburn.ones(1, 3, 6), pyburn.ones(1, 5, 4)).shape\npyburn.Size([1, 3, "
      "6])")
      .def(
          "forward",
          [](CrossAttention& self, const TensorHandle& query, const TensorHandle& context, const TensorHandle& mask) {
            const ComputesWith released(query.numel() >= large, self, query, context);
            return self.CrossAttention::forward(query, context, mask);
          },
          "query"_a, "context"_a, "mask"_a.none() = nb::none())
      .def("forward_cached", &CrossAttention::forward_cached, "query"_a, "context"_a, "cache"_a, "mask"_a.none() = nb::none(),
          "As forward for a constant context: the first call computes and caches its keys and values.");
}

}  // namespace

void bind_layers_attention(nb::module_& m) {
  bind_caches(m);
  bind_attention(m);
  bind_transformer_layers(m);
  bind_layer<nn::PositionalEncoding>(m,
      "Adds sinusoidal positional encodings to tokens (N, S, d_model).\n\n>>> pyburn.nn.PositionalEncoding(4)(pyburn.zeros(1, 3, "
      "4)).shape\npyburn.Size([1, 3, 4])");
  bind_layer<nn::RotaryEncoding>(m,
      "Applies rotary position embeddings to tokens (..., S, d_model).\n\n>>> pyburn.nn.RotaryEncoding(8, 4)(pyburn.ones(1, 3, "
      "4)).shape\npyburn.Size([1, 3, 4])")
      .def("forward_from", &nn::RotaryEncoding::forward_from, "input"_a, "start"_a, "As forward for tokens that begin at position start.");
  bind_layer<nn::SwiGLU>(m,
      "Applies a gated linear unit with SiLU: silu(linear_inner(x)) * linear_outer(x).\n\n>>> pyburn.nn.SwiGLU(3, 2)(pyburn.ones(4, "
      "3)).shape\npyburn.Size([4, 2])");
  bind_layer<nn::GEGLU>(m,
      "Applies a gated linear unit with GELU: gelu(linear_inner(x)) * linear_outer(x).\n\n>>> pyburn.nn.GEGLU(3, 2)(pyburn.ones(4, "
      "3)).shape\npyburn.Size([4, 2])");
  bind_layer<nn::ReGLU>(m,
      "Applies a gated linear unit with ReLU: relu(linear_inner(x)) * linear_outer(x).\n\n>>> pyburn.nn.ReGLU(3, 2)(pyburn.ones(4, "
      "3)).shape\npyburn.Size([4, 2])");
  bind_layer<nn::PositionWiseFeedForward>(m,
      "Applies a two-layer feed-forward network to each token: linear_outer(dropout(activation(linear_inner(x)))).\n\n>>> "
      "pyburn.nn.PositionWiseFeedForward(4, 16)(pyburn.ones(1, 3, 4)).shape\npyburn.Size([1, 3, 4])");
  bind_cross_attention(m);
}

}  // namespace pyburn::python
