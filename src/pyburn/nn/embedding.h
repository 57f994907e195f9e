// Embedding: looks up rows of a table. EmbeddingBag: their sums, means or maxima over bags.
#pragma once
#include "pyburn/nn/layer.h"

namespace pyburn::nn {

struct EmbeddingConfig {
  int64_t num_embeddings = 1, embedding_dim = 1;
  std::optional<Scalar> padding_idx;  // this row is initialised to zeros and gets no gradient; negative values count from the end
  std::optional<Scalar> max_norm;     // rows with a larger norm are rescaled on lookup
  Scalar norm_type = 2.0;
  bool scale_grad_by_freq = false, sparse = false;
  PB_FIELDS(num_embeddings, embedding_dim, padding_idx, max_norm, norm_type, scale_grad_by_freq, sparse)
  static constexpr LayerText text{.required = 2, .positional = 2};
};

class Embedding : public Layer<EmbeddingConfig> {
 public:
  explicit Embedding(EmbeddingConfig config, Placement placement = {});
  Embedding(EmbeddingConfig config, Unfilled) : Layer(std::move(config)) {}
  void reset_parameters();
  void start_from(const TensorHandle& table, bool frozen);  // the table itself (empty: keep the current one), trainable unless frozen
  TensorHandle forward(const TensorHandle& input) override;
  PB_MODULE(Embedding)
};

struct EmbeddingBagConfig {
  int64_t num_embeddings = 1, embedding_dim = 1;
  std::optional<Scalar> max_norm;
  Scalar norm_type = 2.0;
  bool scale_grad_by_freq = false;
  std::string mode = "mean";  // or 'sum', 'max'
  bool sparse = false, include_last_offset = false;
  std::optional<Scalar> padding_idx;  // rows that are excluded from bags
  PB_FIELDS(num_embeddings, embedding_dim, max_norm, norm_type, scale_grad_by_freq, mode, sparse, include_last_offset, padding_idx)
  static constexpr LayerText text{.required = 2};
};

class EmbeddingBag : public Layer<EmbeddingBagConfig> {
 public:
  explicit EmbeddingBag(EmbeddingBagConfig config, Placement placement = {});
  EmbeddingBag(EmbeddingBagConfig config, Unfilled) : Layer(std::move(config)) {}
  void reset_parameters();
  // The rows of `input` are bags; or `input` is 1-d and bags begin at `offsets`.
  TensorHandle forward(const TensorHandle& input, const TensorHandle& offsets, const TensorHandle& per_sample_weights);
  PB_MODULE(EmbeddingBag)
  std::string extra_repr() const override;
};

}  // namespace pyburn::nn
