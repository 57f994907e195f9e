// Weighted sums of elements of planes, at places that a tensor names. The sum is linear in the planes and in the weights; the two
// operations that give its gradients are, too, and the three are all that gradients of any order need.
#include "pyburn/ops/sample_planes.h"

#include "pyburn/ops/generated/sample_planes.h"
#include "pyburn/ops/rules.h"

namespace pyburn {
namespace {

void check_places(const Meta& planes, const Meta& places) {
  require<DTypeError>(is_floating(planes.dtype), "expected a floating dtype: got {}", planes.dtype);
  require<DTypeError>(places.dtype == DType::int64, "expected int64 positions: got {}", places.dtype);
  require(planes.shape.rank() == 3 && places.shape.rank() == 3, "expected 3 dimensions: got {} and {}", planes.shape, places.shape);
  require(planes.shape[0] == places.shape[0], "the positions do not match the planes: got {} for {}", places.shape, planes.shape);
}
void check_weight(const Meta& weight, const Meta& planes, const Meta& places) {
  require(weight.shape == places.shape, "the weights do not match the positions: got {} for {}", weight.shape, places.shape);
  require<DTypeError>(weight.dtype == planes.dtype, "expected one dtype: got {} and {}", planes.dtype, weight.dtype);
}
void check_results(const Meta& dy, const Meta& places) {
  require(dy.shape[2] == places.shape[2], "the positions do not match the results: got {} for {}", places.shape, dy.shape);
}
Meta infer_sample(const SamplePlanes&, Metas in) {
  check_places(in[0], in[1]);
  check_weight(in[2], in[0], in[1]);
  return {Shape{in[0].shape[0], in[0].shape[1], in[1].shape[2]}, in[0].dtype};
}
Meta infer_input(const SamplePlanes& a, Metas in) {
  check_places(in[0], in[1]);
  check_weight(in[2], in[0], in[1]);
  check_results(in[0], in[1]);
  require<ValueError>(a.size >= 0, "expected a size of at least 0: got {}", a.size);
  return {Shape{in[0].shape[0], in[0].shape[1], a.size}, in[0].dtype};
}
Meta infer_weight(const SamplePlanes&, Metas in) {
  check_places(in[0], in[2]);
  check_places(in[1], in[2]);
  check_results(in[0], in[2]);
  require(in[0].shape[1] == in[1].shape[1], "the results do not match the planes: got {} for {}", in[0].shape, in[1].shape);
  require<DTypeError>(in[0].dtype == in[1].dtype, "expected one dtype: got {} and {}", in[0].dtype, in[1].dtype);
  return {in[2].shape, in[0].dtype};
}

TensorHandle if_needed(const GradContext& c, int i, auto gradient) { return c.needs(i) ? gradient() : TensorHandle(); }

Grads grad_sample(const SamplePlanes&, const GradContext& c) {
  const TensorHandle &x = c.input(0), &places = c.input(1), &w = c.input(2);
  return {if_needed(c, 0, [&] { return sample_planes_input(c.dy(), places, w, c.meta(0).shape[2]); }), TensorHandle(),
      if_needed(c, 2, [&] { return sample_planes_weight(c.dy(), x, places); })};
}
Grads grad_input(const SamplePlanes&, const GradContext& c) {
  const TensorHandle &dy = c.input(0), &places = c.input(1), &w = c.input(2);
  return {if_needed(c, 0, [&] { return sample_planes(c.dy(), places, w); }), TensorHandle(),
      if_needed(c, 2, [&] { return sample_planes_weight(dy, c.dy(), places); })};
}
Grads grad_weight(const SamplePlanes&, const GradContext& c) {
  const TensorHandle &dy = c.input(0), &x = c.input(1), &places = c.input(2);
  return {if_needed(c, 0, [&] { return sample_planes(x, places, c.dy()); }),
      if_needed(c, 1, [&] { return sample_planes_input(dy, places, c.dy(), c.meta(1).shape[2]); }), TensorHandle()};
}

}  // namespace

namespace op {
constinit OpInfo sample_planes =
    define<SamplePlanes, infer_sample, grad_sample>({.schema = "sample_planes(Tensor input, Tensor places, Tensor weight) -> Tensor",
        .doc = "Computes sums of weight (N, K, M) times the elements of input (N, C, size) at places (N, K, M), giving (N, C, M); negative "
               "places are skipped.",
        .kind = Kind::gather,
        .reads = {{1, 2}, {}, {0, 1}},
        .torch = "lambda x, p, w: torch.einsum('nckm,nkm->ncm', torch.where(p[:, None] < 0, 0, x.gather(2, p.clamp(min=0).flatten(1)[:, "
                 "None].expand(-1, x.shape[1], -1)).unflatten(2, p.shape[1:])), w)",
        .example = "pyburn.sample_planes(pyburn.tensor([[[3., 4., 5.]]]), pyburn.tensor([[[0], [2]]]), pyburn.tensor([[[0.5], [0.5]]]))",
        .samples = R"(
t(2, 3, 5), tensor([[[0, 2], [3, -1]], [[4, 3], [1, 1]]]), t(2, 2, 2)
t(1, 2, 5), index(1, 3, 70, below=5), t(1, 3, 70)
t(0, 3, 5), index(0, 2, 2, below=5), t(0, 2, 2)
t(1, 5, 3).transpose(1, 2), tensor([[[0, 2], [3, 1]]]), t(1, 2, 2).transpose(1, 2)
t(1, 1, 5).expand(2, 3, 5), tensor([[[0, 2]]]).expand(2, 2, 2), t(1, 2, 2).expand(2, 2, 2)
t(1, 2, 5, dtype=f64), tensor([[[0, 2], [3, 1]]]), t(1, 2, 2, dtype=f64)
t(1, 2, 5, dtype=f16), tensor([[[0, 2], [3, 1]]]), t(1, 2, 2, dtype=f16)
t(), tensor([[[0]]]), t(1, 1, 1) ! dimensions
t(1, 2, 5), tensor([[[0, 5]]]), t(1, 1, 2) ! out of range
t(1, 2, 5), tensor([[[0, 1]]]), t(1, 2, 1) ! weights)"});
constinit OpInfo sample_planes_input = define<SamplePlanes, infer_input, grad_input>(
    {.schema = "sample_planes_input(Tensor input, Tensor places, Tensor weight, int size) -> Tensor",
        .doc = "Computes the gradient of sample_planes with respect to its input.",
        .kind = Kind::gather,
        .reads = {{1, 2}, {}, {0, 1}},
        .torch = "lambda dy, p, w, n: torch.zeros(*dy.shape[:2], n + 1, dtype=dy.dtype).scatter_add(2, torch.where(p < 0, n, "
                 "p).flatten(1)[:, None].expand(-1, dy.shape[1], -1), (dy[:, :, None] * w[:, None]).flatten(2))[..., :n]",
        .example = "pyburn.sample_planes_input(pyburn.tensor([[[3.]]]), pyburn.tensor([[[0], [2]]]), pyburn.tensor([[[0.5], [0.5]]]), 3)",
        .samples = R"(
t(2, 3, 2), tensor([[[0, 2], [3, -1]], [[4, 3], [1, 1]]]), t(2, 2, 2), 5
t(0, 3, 2), index(0, 2, 2, below=5), t(0, 2, 2), 5
t(1, 2, 3).transpose(1, 2), tensor([[[0, 2], [3, 1]]]), t(1, 2, 2), 5
t(1, 1, 2).expand(2, 3, 2), tensor([[[0, 2]]]).expand(2, 2, 2), t(1, 2, 2).expand(2, 2, 2), 5
t(1, 2, 2, dtype=f64), tensor([[[0, 2], [3, 1]]]), t(1, 2, 2, dtype=f64), 7
t(), tensor([[[0]]]), t(1, 1, 1), 5 ! dimensions
t(1, 2, 2), tensor([[[0, 5]]]), t(1, 1, 2), 5 ! out of range
t(1, 2, 3), tensor([[[0, 1]]]), t(1, 1, 2), 5 ! results)"});
constinit OpInfo sample_planes_weight =
    define<SamplePlanes, infer_weight, grad_weight>({.schema = "sample_planes_weight(Tensor input, Tensor planes, Tensor places) -> Tensor",
        .doc = "Computes the gradient of sample_planes with respect to its weight.",
        .kind = Kind::gather,
        .reads = {{1, 2}, {0, 2}},
        .torch = "lambda dy, x, p: torch.einsum('nckm,ncm->nkm', torch.where(p[:, None] < 0, 0, x.gather(2, p.clamp(min=0).flatten(1)[:, "
                 "None].expand(-1, x.shape[1], -1)).unflatten(2, p.shape[1:])), dy)",
        .example = "pyburn.sample_planes_weight(pyburn.tensor([[[2.]]]), pyburn.tensor([[[3., 4., 5.]]]), pyburn.tensor([[[0], [2]]]))",
        .samples = R"(
t(2, 3, 2), t(2, 3, 5), tensor([[[0, 2], [3, -1]], [[4, 3], [1, 1]]])
t(1, 2, 70), t(1, 2, 5), index(1, 3, 70, below=5)
t(0, 3, 2), t(0, 3, 5), index(0, 2, 2, below=5)
t(1, 2, 3).transpose(1, 2), t(1, 5, 3).transpose(1, 2), tensor([[[0, 2], [3, 1]]])
t(1, 1, 2).expand(2, 3, 2), t(1, 1, 5).expand(2, 3, 5), tensor([[[0, 2]]]).expand(2, 2, 2)
t(1, 2, 2, dtype=f64), t(1, 2, 5, dtype=f64), tensor([[[0, 2], [3, 1]]])
t(), t(1, 1, 1), tensor([[[0]]]) ! dimensions
t(1, 2, 2), t(1, 2, 5), tensor([[[0, 5]]]) ! out of range
t(1, 2, 2), t(1, 3, 5), tensor([[[0, 1]]]) ! results)"});
}  // namespace op

void register_sample_planes(OpTable& table) { table.add({&op::sample_planes, &op::sample_planes_input, &op::sample_planes_weight}); }

}  // namespace pyburn
