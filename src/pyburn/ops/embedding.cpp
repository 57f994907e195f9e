// Rows of a table looked up by index.
#include "pyburn/ops/embedding.h"

#include <limits>

#include "pyburn/ops/copy.h"
#include "pyburn/ops/generated/binary.h"
#include "pyburn/ops/generated/copy.h"
#include "pyburn/ops/generated/embedding.h"
#include "pyburn/ops/generated/fill.h"
#include "pyburn/ops/generated/index.h"
#include "pyburn/ops/generated/join.h"
#include "pyburn/ops/generated/movement.h"
#include "pyburn/ops/generated/reduce.h"
#include "pyburn/ops/generated/segment.h"
#include "pyburn/ops/generated/unary.h"
#include "pyburn/ops/rules.h"
#include "pyburn/ops/value_checks.h"
#include "pyburn/support/assertion.h"

namespace pyburn {
namespace {

Meta infer(const Embedding&, Metas in) {
  require(in[0].shape.rank() == 2, "'weight' must be 2-D: got {}", in[0].shape);
  require<DTypeError>(in[1].dtype == DType::int64 || in[1].dtype == DType::int32,
      "Expected tensor for argument #1 'indices' to have one of the scalar types Long, Int: got {}", in[1].dtype);
  Shape shape = in[1].shape;
  shape.push_back(in[0].shape[1]);
  checked_numel(shape);
  return {shape, in[0].dtype};
}
Grads grad(const Embedding& a, const GradContext& c) {
  const Shape& table = c.meta(0).shape;
  const TensorHandle indices = c.input(1);
  const DType dtype = c.meta(0).dtype;
  Device* device = &c.dy().device();
  const TensorHandle flat = reshape(indices, Dims{indices.numel()});
  TensorHandle rows = reshape(c.dy(), Dims{flat.numel(), table[1]});
  if (a.scale_grad_by_freq) {
    const TensorHandle count =
        index_add(zeros(Dims{table[0]}, dtype, device, false), 0, flat, ones(Dims{flat.numel()}, dtype, device, false));
    rows = rows / unsqueeze(index_select(count, 0, flat), 1);
  }
  if (a.padding_idx >= 0) rows = where(unsqueeze(eq(flat, a.padding_idx), 1), 0.0, rows);
  return {index_add(zeros(table, dtype, device, false), 0, flat, rows)};
}

}  // namespace

namespace op {
constinit OpInfo _embedding = define<Embedding, infer, grad>(
    {.schema = "_embedding(Tensor weight, Tensor indices, int padding_idx=-1, bool scale_grad_by_freq=False) -> Tensor",
        .doc = "Looks up rows of weight by index.",
        .kind = Kind::gather,
        .reads = {{1}},
        .torch = "torch.embedding",
        .example = "pyburn.nn.functional.embedding(pyburn.tensor([1, 0]), pyburn.ones(2, 3))",
        .samples = R"(
t(5, 3), index(4, below=5)
t(5, 3), tensor([[0, 1, 1], [4, 2, 0]]), 1
t(5, 3), tensor([2, 0, 2, 1]), scale_grad_by_freq=True
t(5, 3), index(below=5)
t(5, 3), index(0, below=5)
t(3, 5).T, index(4, below=5)
t(1, 3).expand(5, 3), index(4, below=5)
t(5, 3, dtype=f16), index(4, below=5)
t(5, 3), tensor([5]) ! out of range
t(5), index(4, below=5) ! must be 2-D
t(5, 3), t(4) ! indices)"});
}  // namespace op

namespace {
constinit FunctionInfo functions[] = {
    {.schema = "embedding(Tensor input, Tensor weight, int? padding_idx=None, float? max_norm=None, float norm_type=2.0, "
               "bool scale_grad_by_freq=False, bool sparse=False) -> Tensor",
        .doc = "Looks up embedding vectors: rows of weight (V, D) for the indices in input (*), giving (*, D).",
        .torch = "lambda x, w, *rest, **k: torch.nn.functional.embedding(x, w.clone() if w.requires_grad and k.get('max_norm') else w, "
                 "*rest, **k)",
        .example = "pyburn.embedding(pyburn.tensor([1, 0]), pyburn.ones(2, 3))",
        .samples = R"(
index(4, below=5), t(5, 3)
tensor([[0, 1, 1], [4, 2, 0]]), t(5, 3), 1
tensor([3, 0, 3, 2]), t(5, 3), padding_idx=-2
tensor([2, 0, 2, 1]), t(5, 3), scale_grad_by_freq=True
index(4, below=5), t(5, 3).constant, max_norm=1.0
index(4, below=5), t(5, 3).constant, max_norm=1.5, norm_type=1.0
index(below=5), t(5, 3).constant, sparse=True
index(0, below=5), t(5, 3)
index(4, 2, below=5).T, t(3, 5).T
index(4, 1, below=5).expand(4, 2), t(5, 3)
index(4, below=5), t(5, 3), 7 ! Padding_idx
tensor([5]), t(5, 3) ! out of range)"},
    {.schema = "embedding_bag(Tensor input, Tensor weight, Tensor? offsets=None, float? max_norm=None, float norm_type=2.0, "
               "bool scale_grad_by_freq=False, str mode='mean', bool sparse=False, Tensor? per_sample_weights=None, "
               "bool include_last_offset=False, int? padding_idx=None) -> Tensor",
        .doc = "Computes sums, means or maxima of bags of embedding vectors; a bag is a row of input, or a part of it that begins at an "
               "offset.",
        .torch = "torch.nn.functional.embedding_bag",
        .example = "pyburn.embedding_bag(pyburn.tensor([[0, 1]]), pyburn.ones(2, 3), mode='sum')",
        .samples = R"(
index(2, 3, below=5), t(5, 3)
index(2, 3, below=5), t(5, 3), mode='sum'
index(2, 3, below=5), t(5, 3), mode='max'
index(6, below=5), t(5, 3), tensor([0, 2, 2, 5])
index(6, below=5), t(5, 3), tensor([0, 2, 2]), mode='sum', per_sample_weights=t(6)
index(6, below=5), t(5, 3), tensor([0, 2, 2]), mode='max'
index(6, below=5), t(5, 3), tensor([0, 2, 6]), include_last_offset=True
index(2, 3, below=3), t(5, 3), padding_idx=1
index(2, 3, below=3), t(5, 3), padding_idx=1, mode='max'
tensor([[2, 0], [2, 1]]), t(5, 3), scale_grad_by_freq=True
index(2, 3, below=5), t(5, 3).constant, max_norm=1.0, norm_type=1.0, sparse=True
index(3, 2, below=5).T, t(3, 5).T
index(2, 1, below=5).expand(2, 3), t(5, 3)
index(0, below=5), t(5, 3), tensor([0, 0])
index(2, 3, below=5), t(5, 3), mode='median' ! mode
index(6, below=5), t(5, 3) ! offsets
index(6, below=5), t(5, 3), tensor([1, 3]) ! offsets[0]
index(6, below=5), t(5, 3), tensor([0, 7]) ! offsets[-1]
index(2, 3, below=5), t(5, 3), padding_idx=5 ! padding_idx
index(below=5), t(5, 3) ! 1D or 2D
index(2, 3, below=5), t(5, 3), mode='sum', per_sample_weights=t(2, 3, dtype=f64) ! same type
index(2, 3, below=5), t(5, 3), mode='max', per_sample_weights=t(2, 3) ! per_sample_weights)"},
};

// The rows that are looked up become at most max_norm long, in the table itself.
void shorten(const TensorHandle& weight, const TensorHandle& indices, double max_norm, double norm_type) {
  const TensorHandle table = detach(weight), flat = reshape(indices, Dims{indices.numel()}), rows = index_select(table, 0, flat);
  const TensorHandle norm = pow(sum(pow(abs(rows), norm_type), Dims{1}, true), 1.0 / norm_type);
  index_copy_into(table, table, 0, flat, where(gt(norm, max_norm), rows * (max_norm / (norm + 1e-7)), rows));
}
}  // namespace

TensorHandle fn::embedding(const TensorHandle& input, const TensorHandle& weight, std::optional<int64_t> padding_idx,
    std::optional<double> max_norm, double norm_type, bool scale_grad_by_freq, bool /*sparse: gradients are dense here*/) {
  int64_t padding = -1;
  if (padding_idx) {
    const int64_t n = weight.rank() ? weight.shape()[0] : 0;
    require<AssertionFailed>(
        *padding_idx >= -n && *padding_idx < n, "[embedding] Padding_idx must be within num_embeddings: got {} for {}", *padding_idx, n);
    padding = *padding_idx < 0 ? *padding_idx + n : *padding_idx;
  }
  if (max_norm) shorten(weight, input, *max_norm, norm_type);
  return _embedding(weight, input, padding, scale_grad_by_freq);
}

TensorHandle fn::embedding_bag(const TensorHandle& input, const TensorHandle& weight, const TensorHandle& offsets,
    std::optional<double> max_norm, double norm_type, bool scale_grad_by_freq, const std::string& mode, bool sparse,
    const TensorHandle& per_sample_weights, bool include_last_offset, std::optional<int64_t> padding_idx) {
  require<ValueError>(
      mode == "sum" || mode == "mean" || mode == "max", "[embedding_bag] mode must be 'sum', 'mean' or 'max': got '{}'", mode);
  require<UnsupportedOp>(!per_sample_weights.defined() || mode == "sum",
      "[embedding_bag] per_sample_weights are only supported for mode='sum': got mode='{}'", mode);
  require<DTypeError>(!per_sample_weights.defined() || per_sample_weights.dtype() == weight.dtype(),
      "[embedding_bag] expected per_sample_weights to have the same type as weight ({}): got {}", weight.dtype(),
      per_sample_weights.defined() ? per_sample_weights.dtype() : weight.dtype());
  require<ValueError>(!per_sample_weights.defined() || per_sample_weights.shape() == input.shape(),
      "[embedding_bag] expected per_sample_weights to have the same shape as the input: got {} for {}",
      per_sample_weights.defined() ? per_sample_weights.shape() : input.shape(), input.shape());
  require<ValueError>(input.rank() == 1 || input.rank() == 2, "[embedding_bag] input has to be 1D or 2D Tensor: got {}", input.shape());
  require<ValueError>(
      offsets.defined() == (input.rank() == 1), "[embedding_bag] offsets are needed for an input of one axis, and only there");
  require<ValueError>(!offsets.defined() || offsets.rank() == 1, "[embedding_bag] offsets has to be a 1D Tensor: got {}",
      offsets.defined() ? offsets.shape() : Shape());
  const int64_t n = input.numel(), table = weight.rank() ? weight.shape()[0] : 0;
  require<ValueError>(!padding_idx || (*padding_idx >= -table && *padding_idx < table),
      "[embedding_bag] padding_idx must be within the number of embeddings, {} through {}: got {}", -table, table - 1,
      padding_idx.value_or(0));
  if (offsets.defined() && offsets.numel()) {
    require<ValueError>(
        holds_everywhere(eq(slice(offsets, 0, 0, 1), 0)), "[embedding_bag] offsets[0] has to be 0: the first bag begins with the input");
    require<ValueError>(
        holds_everywhere(le(slice(offsets, 0, -1), n)), "[embedding_bag] offsets[-1] can not be greater than input's length {}", n);
  }
  Device* device = &input.device();
  const TensorHandle flat = reshape(input, Dims{n});
  // Where bags begin, and where the last one ends.
  TensorHandle bounds;
  if (!offsets.defined())
    bounds = arange(0, input.shape()[0] + 1, 1, DType::int64, device, false) * input.shape()[1];  // fits: up to numel()
  else if (include_last_offset) bounds = offsets;
  else bounds = cat({offsets, full(Dims{1}, n, offsets.dtype(), device, false)}, 0);

  TensorHandle rows = embedding(flat, weight, padding_idx, max_norm, norm_type, scale_grad_by_freq, sparse);
  TensorHandle counted = ones(Dims{n}, weight.dtype(), device, false);  // 0 for the padding, which does not take part
  if (padding_idx) {
    const int64_t padding = *padding_idx < 0 ? *padding_idx + weight.shape()[0] : *padding_idx;
    const TensorHandle left_out = eq(flat, padding);
    counted = where(left_out, 0.0, counted);
    rows = where(unsqueeze(left_out, 1), mode == "max" ? -std::numeric_limits<double>::infinity() : 0.0, rows);
  }
  if (per_sample_weights.defined()) rows = rows * reshape(per_sample_weights, Dims{n, 1});
  if (mode == "sum") return segment_reduce(rows, "sum", {}, bounds);
  const TensorHandle count = unsqueeze(segment_reduce(counted, "sum", {}, bounds), 1);
  if (mode == "mean") return segment_reduce(rows, "sum", {}, bounds) / maximum(count, 1);
  return where(eq(count, 0), 0.0, segment_reduce(rows, "max", {}, bounds));
}

void register_embedding(OpTable& table) {
  table.add({&op::_embedding});
  table.add(functions);
}

}  // namespace pyburn
