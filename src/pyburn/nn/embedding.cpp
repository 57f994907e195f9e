#include "pyburn/nn/embedding.h"

#include "pyburn/decorators/autodiff/autograd.h"
#include "pyburn/nn/init.h"
#include "pyburn/nn/parts.h"
#include "pyburn/ops/generated/embedding.h"
#include "pyburn/ops/generated/fill.h"
#include "pyburn/ops/generated/movement.h"
#include "pyburn/support/assertion.h"

namespace pyburn::nn {
namespace {

template <class C>
C checked(C c) {
  if (c.norm_type.to_double() == 2) c.norm_type = 2.0;  // which is not printed
  if (!c.padding_idx) return c;
  const int64_t n = c.num_embeddings, row = c.padding_idx->to_int();
  require<AssertionFailed>(
      n > 0 && row >= -n && row < n, "{}adding_idx must be within num_embeddings ({}): got {}", requires { c.mode; } ? "p" : "P", n, row);
  c.padding_idx = row < 0 ? row + n : row;
  return c;
}

template <class C>
void reset(const TensorHandle& weight, const C& c) {
  init::normal_(weight);
  if (!c.padding_idx) return;
  autograd::NoGrad no_grad;
  init::constant_(fn::select(weight, 0, c.padding_idx->to_int()), 0);
}

std::optional<double> number(const std::optional<Scalar>& s) { return s ? std::optional(s->to_double()) : std::nullopt; }
std::optional<int64_t> integer(const std::optional<Scalar>& s) { return s ? std::optional(s->to_int()) : std::nullopt; }

// The options of a bag in the order in which they are printed.
struct Printed {
  int64_t num_embeddings = 1, embedding_dim = 1;
  std::optional<Scalar> max_norm;
  Scalar norm_type = 2.0;
  bool scale_grad_by_freq = false, sparse = false;
  std::string mode;  // has no default, so that it is always printed
  std::optional<Scalar> padding_idx;
  PB_FIELDS(num_embeddings, embedding_dim, max_norm, norm_type, scale_grad_by_freq, sparse, mode, padding_idx)
};

}  // namespace

Embedding::Embedding(EmbeddingConfig config, Placement p) : Layer(checked(std::move(config))) {
  register_parameter("weight", Parameter(fn::empty({config_.num_embeddings, config_.embedding_dim}, p.dtype, p.device)));
  reset_parameters();
}

void Embedding::reset_parameters() { reset(tensor("weight"), config_); }

void Embedding::start_from(const TensorHandle& table, bool frozen) {
  const TensorHandle weight = table.defined() ? table : tensor("weight");
  require<AssertionFailed>(weight.shape() == tensor("weight").shape(),
      "Shape of weight does not match num_embeddings and embedding_dim: got {} for {}", weight.shape(), tensor("weight").shape());
  erase("weight");
  register_parameter("weight", Parameter(weight, !frozen));
}

TensorHandle Embedding::forward(const TensorHandle& input) {
  const EmbeddingConfig& c = config_;
  return fn::embedding(
      input, needed(*this, "weight"), integer(c.padding_idx), number(c.max_norm), c.norm_type.to_double(), c.scale_grad_by_freq);
}

EmbeddingBag::EmbeddingBag(EmbeddingBagConfig config, Placement p) : Layer(checked(std::move(config))) {
  const std::string& mode = config_.mode;
  require<ValueError>(mode == "sum" || mode == "mean" || mode == "max", "mode has to be one of sum, mean, max: got '{}'", mode);
  register_parameter("weight", Parameter(fn::empty({config_.num_embeddings, config_.embedding_dim}, p.dtype, p.device)));
  reset_parameters();
}

void EmbeddingBag::reset_parameters() { reset(tensor("weight"), config_); }

TensorHandle EmbeddingBag::forward(const TensorHandle& input, const TensorHandle& offsets, const TensorHandle& per_sample_weights) {
  const EmbeddingBagConfig& c = config_;
  return fn::embedding_bag(input, needed(*this, "weight"), offsets, number(c.max_norm), c.norm_type.to_double(), c.scale_grad_by_freq,
      c.mode, false, per_sample_weights, c.include_last_offset, integer(c.padding_idx));
}

std::string EmbeddingBag::extra_repr() const {
  const EmbeddingBagConfig& c = config_;
  Printed p{c.num_embeddings, c.embedding_dim, c.max_norm, c.norm_type, c.scale_grad_by_freq, c.sparse, "'" + c.mode + "'", c.padding_idx};
  return config_text({&attr_type<Printed>, &p}, {.positional = 2});
}

}  // namespace pyburn::nn
