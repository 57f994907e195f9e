// Attention and its gradient, two rows with kernels that form the scores a block at a time; elsewhere they are made of products.
#include "pyburn/ops/attention.h"

#include <cmath>
#include <limits>

#include "pyburn/ops/generated/attention.h"
#include "pyburn/ops/generated/binary.h"
#include "pyburn/ops/generated/copy.h"
#include "pyburn/ops/generated/fill.h"
#include "pyburn/ops/generated/index.h"
#include "pyburn/ops/generated/matmul.h"
#include "pyburn/ops/generated/movement.h"
#include "pyburn/ops/generated/reduce.h"
#include "pyburn/ops/generated/transcendental.h"
#include "pyburn/ops/random.h"
#include "pyburn/ops/rules.h"
#include "pyburn/runtime/autocast.h"
#include "pyburn/support/checked.h"

namespace pyburn {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

void check(const Meta& q, const Meta& k, const Meta& v, const Meta& mask) {
  for (const Meta* m : {&q, &k, &v}) {
    require(m->shape.rank() == 4, "expected 4 dimensions (batch, head, token, feature): got {}", m->shape);
    require<DTypeError>(is_floating(m->dtype) && m->dtype == q.dtype, "expected one floating dtype: got {} and {}", q.dtype, m->dtype);
    require(m->shape[0] == q.shape[0], "batch sizes differ: got {} and {}", q.shape, m->shape);
  }
  const int64_t heads = q.shape[1], shared = k.shape[1];
  require(k.shape[1] == v.shape[1] && k.shape[2] == v.shape[2], "shapes of key and value do not match: got {} and {}", k.shape, v.shape);
  require(heads == shared || (shared > 0 && heads % shared == 0),
      "the number of key heads must divide the number of query heads: got {} and {}", k.shape, q.shape);
  require(q.shape[3] == k.shape[3], "feature sizes of query and key differ: got {} and {}", q.shape, k.shape);
  if (mask.shape.empty()) return;  // absent
  require(mask.shape == Shape{q.shape[0], heads, q.shape[2], k.shape[2]},
      "the shape of the mask does not match: got {} for query {} and key {}", mask.shape, q.shape, k.shape);
  require<DTypeError>(mask.dtype == DType::boolean || mask.dtype == q.dtype, "expected a mask of bool or {}: got {}", q.dtype, mask.dtype);
}
DType sum_dtype(DType t) { return t == DType::float64 ? t : DType::float32; }

MetaList infer(const Attention&, Metas in) {
  check(in[0], in[1], in[2], in[3]);
  const Shape& q = in[0].shape;
  return {{Shape{q[0], q[1], q[2], in[2].shape[3]}, in[0].dtype}, {Shape{q[0], q[1], q[2]}, sum_dtype(in[0].dtype)}};
}
MetaList infer_grad(const Attention&, Metas in) {
  const Meta &dy = in[0], &q = in[1], &k = in[2], &v = in[3];
  check(q, k, v, in[4]);
  require(dy == Meta{Shape{q.shape[0], q.shape[1], q.shape[2], v.shape[3]}, q.dtype},
      "the shape of the gradient does not match: got {} for {}", dy.shape, q.shape);
  for (const Meta* m : {&in[5], &in[6]})
    require(*m == Meta{Shape{q.shape[0], q.shape[1], q.shape[2]}, sum_dtype(q.dtype)},
        "the shape of the row sums does not match: got {} for {}", m->shape, q.shape);
  return {q, k, v};
}

// Keys or values, one set for each head of queries; and the sum back.
TensorHandle repeated(const TensorHandle& x, int64_t heads) {
  const Shape& s = x.shape();
  if (s[1] == heads) return x;
  return reshape(expand(unsqueeze(x, 2), Dims{s[0], s[1], heads / s[1], s[2], s[3]}), Dims{s[0], heads, s[2], s[3]});
}
TensorHandle gathered(const TensorHandle& x, const Shape& to) {
  const Shape& s = x.shape();
  return s[1] == to[1] ? x : sum(reshape(x, Dims{s[0], to[1], s[1] / to[1], s[2], s[3]}), Dims{2});
}
TensorHandle turned(const TensorHandle& x) { return transpose(x, 2, 3); }

// The scores, with minus infinity where a query does not see a key.
TensorHandle scores(const Attention& a, const TensorHandle& q, const TensorHandle& k, const TensorHandle& mask) {
  TensorHandle s = cast(matmul(q * a.scale, turned(repeated(k, q.shape()[1]))), sum_dtype(q.dtype()));
  if (mask.defined()) s = mask.dtype() == DType::boolean ? where(mask, s, -kInfinity) : s + cast(mask, s.dtype());
  if (a.is_causal) {
    const TensorHandle row = arange(0, s.shape()[2], 1, DType::int64, &s.device()),
                       column = arange(0, s.shape()[3], 1, DType::int64, &s.device());
    s = where(le(column, unsqueeze(row, 1)), s, -kInfinity);
  }
  return s;
}
// Where a query sees no key the largest score and the sum are replaced, so that the row becomes 0.
TensorHandle finite(const TensorHandle& x) { return where(eq(x, -kInfinity), 0.0, x); }

Tensors decompose_attention(const Attention& a, Inputs in) {
  const TensorHandle &q = *in[0], &k = *in[1], &v = *in[2];
  const TensorHandle s = scores(a, q, k, *in[3]);
  if (s.shape()[3] == 0) {
    const Shape& n = q.shape();
    return {zeros(Dims{n[0], n[1], n[2], v.shape()[3]}, q.dtype(), &q.device(), false),
        full(Dims{n[0], n[1], n[2]}, -kInfinity, s.dtype(), &q.device(), false)};
  }
  const TensorHandle largest = finite(amax(s, Dims{3}, true)), e = exp(s - largest), total = sum(e, Dims{3}, true);
  const TensorHandle p = cast(e / where(eq(total, 0.0), 1.0, total), q.dtype());
  return {matmul(p, repeated(v, q.shape()[1])), reshape(largest + log(total), Dims{q.shape()[0], q.shape()[1], q.shape()[2]})};
}

// What both gradients are made of: probabilities from the scores and their log-sum-exp, and the gradient of the scores.
struct Recomputed {
  TensorHandle p, dp, ds;  // in the dtype of the sums
  Recomputed(const Attention& a, const TensorHandle& dy, const TensorHandle& q, const TensorHandle& k, const TensorHandle& v,
      const TensorHandle& mask, const TensorHandle& logsumexp, const TensorHandle& delta)
      : p(exp(scores(a, q, k, mask) - unsqueeze(finite(logsumexp), 3))),
        dp(cast(matmul(dy, turned(repeated(v, q.shape()[1]))), p.dtype())),
        ds(p * (dp - unsqueeze(delta, 3))) {}
};
Tensors decompose_grad(const Attention& a, Inputs in) {
  const TensorHandle &dy = *in[0], &q = *in[1], &k = *in[2], &v = *in[3];
  const Recomputed r(a, dy, q, k, v, *in[4], *in[5], *in[6]);
  const TensorHandle ds = cast(r.ds, q.dtype()) * a.scale, p = cast(r.p, q.dtype());
  return {matmul(ds, repeated(k, q.shape()[1])), gathered(matmul(turned(ds), q), k.shape()), gathered(matmul(turned(p), dy), v.shape())};
}

// delta is the sum of dy * y along a row, less what arrives for the log-sum-exp: with it the gradient of a score needs its own row only.
Grads grad_attention(const Attention& a, const GradContext& c) {
  const DType wide = sum_dtype(c.meta(0).dtype);
  TensorHandle delta = sum(c.dy() * c.output(), Dims{3}, false, wide);
  if (c.has_dy(1)) delta = delta - c.dy(1);
  const auto [dq, dk, dv] =
      attention_grad(c.dy(), c.input(0), c.input(1), c.input(2), c.input(3), c.output(1), delta, a.is_causal, a.scale);
  return {dq, dk, dv, TensorHandle()};
}
Grads grad_grad(const Attention& a, const GradContext& c) {
  const TensorHandle dy = c.input(0), q = c.input(1), k = c.input(2), v = c.input(3);
  const int64_t heads = q.shape()[1];
  const TensorHandle keys = repeated(k, heads), values = repeated(v, heads), gq = c.dy(0), gk = repeated(c.dy(1), heads),
                     gv = repeated(c.dy(2), heads);
  const Recomputed r(a, dy, q, k, v, c.input(4), c.input(5), c.input(6));
  const DType narrow = q.dtype(), wide = r.p.dtype();
  const TensorHandle g_ds = cast(matmul(gq, turned(keys)) + matmul(q, turned(gk)), wide) * a.scale;
  const TensorHandle g_dp = g_ds * r.p;
  const TensorHandle g_s = (cast(matmul(dy, turned(gv)), wide) + g_ds * (r.dp - unsqueeze(c.input(6), 3))) * r.p;
  const TensorHandle s = cast(g_s, narrow) * a.scale, ds = cast(r.ds, narrow) * a.scale, dp = cast(g_dp, narrow);
  return {matmul(cast(r.p, narrow), gv) + matmul(dp, values), matmul(s, keys) + matmul(ds, gk),
      gathered(matmul(turned(s), q) + matmul(turned(ds), gq), k.shape()), gathered(matmul(turned(dp), dy), v.shape()), TensorHandle(),
      -sum(g_s, Dims{3}), -sum(g_dp, Dims{3})};
}

}  // namespace

namespace {
int64_t cost(std::span<const Shape* const> in, const Shape& out) {  // scores, and what they weigh
  return (Checked(in[0]->numel()) + out.numel()) * (*in[1])[in[1]->rank() - 2];
}
int64_t cost_grad(std::span<const Shape* const> in, const Shape&) {  // the scores again, and four products
  return (3 * Checked(in[1]->numel()) + 2 * Checked(in[0]->numel())) * (*in[2])[in[2]->rank() - 2];
}
}  // namespace

namespace op {
constinit OpInfo attention = define<Attention, infer, grad_attention, decompose_attention>(
    {.schema = "attention(Tensor query, Tensor key, Tensor value, Tensor? mask, bool is_causal, float scale) -> (Tensor output, Tensor "
               "logsumexp)",
        .doc = "Computes attention over (batch, head, token, feature), softmax(scale * query @ key.T + mask) @ value, and the log-sum-exp "
               "of the scores.",
        .kind = Kind::contract,
        .autocast = Autocast::lower,
        .saves = inputs | outputs,
        .multiply_adds = cost,
        .torch =
            "lambda q, k, v, m, c, s: (lambda x: (torch.softmax(x, -1) @ v.repeat_interleave(q.shape[1] // v.shape[1], 1), "
            "torch.logsumexp(x, -1)))(sum([s * q @ k.repeat_interleave(q.shape[1] // k.shape[1], 1).mT] + ([] if m is None else [m if "
            "m.dtype != torch.bool else torch.zeros(m.shape).masked_fill(~m, -float('inf'))]) + ([torch.full((q.shape[2], k.shape[2]), "
            "-float('inf')).triu(1)] if c else [])))",
        .example = "pyburn.attention(pyburn.ones(1, 1, 2, 3), pyburn.ones(1, 1, 4, 3), pyburn.ones(1, 1, 4, 3), None, False, 1.0)[0].shape",
        .samples = R"(
t(1, 2, 2, 3), t(1, 2, 4, 3), t(1, 2, 4, 2), None, False, 0.5
t(1, 2, 3, 2), t(1, 2, 3, 2), t(1, 2, 3, 2), None, True, 1.0
t(1, 2, 2, 2), t(1, 1, 3, 2), t(1, 1, 3, 2), None, False, 0.5
t(1, 1, 2, 3), t(1, 1, 3, 3), t(1, 1, 3, 2), t(1, 1, 2, 3).constant, False, 0.5
t(1, 1, 2, 3), t(1, 1, 3, 3), t(1, 1, 3, 2), tensor([[[[True, False, True], [False, True, True]]]]), False, 0.5
t(0, 1, 2, 3), t(0, 1, 3, 3), t(0, 1, 3, 2), None, False, 0.5
t(1, 2, 2, 3).transpose(1, 2), t(1, 4, 2, 3).transpose(1, 2), t(1, 4, 2, 2).transpose(1, 2), None, False, 0.5
t(1, 1, 2, 3).expand(1, 2, 2, 3), t(1, 2, 4, 3), t(1, 2, 4, 2), None, False, 0.5
t(1, 2, 2, 3, dtype=f64), t(1, 2, 4, 3, dtype=f64), t(1, 2, 4, 2, dtype=f64), None, False, 0.5
t(1, 2, 70, 8), t(1, 2, 140, 8), t(1, 2, 140, 8), None, False, 0.3
t(1, 2, 140, 8), t(1, 2, 140, 8), t(1, 2, 140, 8), None, True, 0.3
t(), t(1, 2, 4, 3), t(1, 2, 4, 2), None, False, 0.5 ! dimensions
t(1, 2, 2, 3), t(1, 2, 4, 5), t(1, 2, 4, 2), None, False, 0.5 ! feature sizes
t(1, 3, 2, 3), t(1, 2, 4, 3), t(1, 2, 4, 2), None, False, 0.5 ! heads)"});
constinit OpInfo attention_grad = define<Attention, infer_grad, grad_grad, decompose_grad>(
    {.schema = "attention_grad(Tensor grad_output, Tensor query, Tensor key, Tensor value, Tensor? mask, Tensor logsumexp, Tensor delta, "
               "bool is_causal, float scale) -> (Tensor grad_query, Tensor grad_key, Tensor grad_value)",
        .doc = "Computes the gradients of attention; recomputes the probabilities from the scores and their log-sum-exp.",
        .kind = Kind::contract,
        .saves = inputs,
        .multiply_adds = cost_grad,
        .torch = "lambda dy, q, k, v, m, l, d, c, s: (lambda r: (lambda x: (lambda p: (lambda e: ((e @ r(k)) * s, (e.mT @ q * "
                 "s).unflatten(1, (k.shape[1], -1)).sum(2), (p.mT @ dy).unflatten(1, (v.shape[1], -1)).sum(2)))(p * (dy @ r(v).mT - "
                 "d[..., None])))(torch.exp(x - l[..., None])))(sum([s * q @ r(k).mT] + ([] if m is None else [m]) + "
                 "([torch.full((q.shape[2], k.shape[2]), -float('inf')).triu(1)] if c else []))))(lambda x: "
                 "x.repeat_interleave(q.shape[1] // x.shape[1], 1))",
        .example = "pyburn.attention_grad(pyburn.ones(1, 1, 2, 3), pyburn.ones(1, 1, 2, 3), pyburn.ones(1, 1, 4, 3), pyburn.ones(1, 1, 4, "
                   "3), None, pyburn.ones(1, 1, 2), pyburn.ones(1, 1, 2), False, 1.0)[0].shape",
        .samples = R"(
t(1, 2, 2, 2), t(1, 2, 2, 3), t(1, 2, 4, 3), t(1, 2, 4, 2), None, t(1, 2, 2), t(1, 2, 2), False, 0.5
t(1, 2, 3, 2), t(1, 2, 3, 2), t(1, 2, 3, 2), t(1, 2, 3, 2), None, t(1, 2, 3), t(1, 2, 3), True, 1.0
t(1, 2, 2, 2), t(1, 2, 2, 2), t(1, 1, 3, 2), t(1, 1, 3, 2), None, t(1, 2, 2), t(1, 2, 2), False, 0.5
t(1, 1, 2, 2), t(1, 1, 2, 3), t(1, 1, 3, 3), t(1, 1, 3, 2), t(1, 1, 2, 3).constant, t(1, 1, 2), t(1, 1, 2), False, 0.5
t(0, 1, 2, 2), t(0, 1, 2, 3), t(0, 1, 3, 3), t(0, 1, 3, 2), None, t(0, 1, 2), t(0, 1, 2), False, 0.5
t(1, 2, 2, 2).transpose(1, 2), t(1, 2, 2, 3), t(1, 4, 2, 3).transpose(1, 2), t(1, 2, 4, 2), None, t(1, 2, 2), t(1, 2, 2), False, 0.5
t(1, 1, 2, 2).expand(1, 2, 2, 2), t(1, 2, 2, 3), t(1, 2, 4, 3), t(1, 2, 4, 2), None, t(1, 2, 2), t(1, 2, 2), False, 0.5
t(1, 2, 70, 8).constant, t(1, 2, 70, 8).constant, t(1, 2, 140, 8).constant, t(1, 2, 140, 8).constant, None, t(1, 2, 70).constant, t(1, 2, 70).constant, False, 0.1
t(), t(1, 2, 2, 3), t(1, 2, 4, 3), t(1, 2, 4, 2), None, t(1, 2, 2), t(1, 2, 2), False, 0.5 ! does not match)"});
}  // namespace op

namespace {
constinit FunctionInfo functions[] = {
    {.schema = "scaled_dot_product_attention(Tensor query, Tensor key, Tensor value, Tensor? attn_mask=None, float dropout_p=0.0, bool "
               "is_causal=False, *, float? scale=None, bool enable_gqa=False) -> Tensor",
        .doc = "Computes scaled dot-product attention, softmax(query @ key.T * scale + attn_mask) @ value, over the last two dimensions.",
        .torch = "torch.nn.functional.scaled_dot_product_attention",
        .example = "pyburn.scaled_dot_product_attention(pyburn.ones(2, 3, 4), pyburn.ones(2, 5, 4), pyburn.ones(2, 5, 4)).shape",
        .samples = R"(
t(1, 2, 3, 4), t(1, 2, 3, 4), t(1, 2, 3, 4)
t(2, 3, 4), t(2, 5, 4), t(2, 5, 3), scale=0.3
t(3, 4), t(5, 4), t(5, 4)
t(1, 2, 3, 4), t(1, 2, 3, 4), t(1, 2, 3, 4), is_causal=True
t(1, 2, 3, 4), t(1, 2, 5, 4), t(1, 2, 5, 4), t(3, 5)
t(1, 2, 3, 4), t(1, 2, 5, 4), t(1, 2, 5, 4), t(3, 5).constant
t(1, 2, 3, 4), t(1, 2, 2, 4), t(1, 2, 2, 4), attn_mask=tensor([[True, False], [True, True], [False, False]])
t(1, 4, 3, 2), t(1, 2, 3, 2), t(1, 2, 3, 2), enable_gqa=True
t(2, 1, 2, 2, 2), t(2, 1, 2, 2, 2), t(2, 1, 2, 2, 2)
t(0, 2, 3, 4), t(0, 2, 3, 4), t(0, 2, 3, 4)
t(1, 3, 2, 4).transpose(1, 2), t(1, 3, 2, 4).transpose(1, 2), t(1, 3, 2, 4).transpose(1, 2)
t(1, 1, 3, 4).expand(1, 2, 3, 4), t(1, 2, 3, 4), t(1, 2, 3, 4)
t(1, 2, 3, 4, dtype=bf16), t(1, 2, 3, 4, dtype=bf16), t(1, 2, 3, 4, dtype=bf16)
t(1, 2, 3, 4), t(1, 2, 3, 4), t(1, 2, 3, 4), dropout_p=1.0
t(), t(5, 4), t(5, 4) ! dimensions
t(1, 2, 3, 4), t(1, 2, 3, 4), t(1, 2, 3, 4), t(3, 3), is_causal=True ! is_causal
t(1, 2, 3, 4), t(1, 2, 3, 4), t(1, 2, 3, 4), dropout_p=2.0 ! dropout_p)"},
};

// The leading axes as (batch, head).
TensorHandle four_axes(const TensorHandle& x) {
  const Shape& s = x.shape();
  if (s.rank() == 4) return x;
  if (s.rank() < 4) return four_axes(unsqueeze(x, 0));
  int64_t batch = 1;
  for (int i = 0; i < s.rank() - 3; ++i) batch *= s[i];
  return reshape(x, Dims{batch, s[s.rank() - 3], s[s.rank() - 2], s.back()});
}
// x with the leading axes stretched to `batch`; the last three (head, token, feature) stay.
TensorHandle stretched(const TensorHandle& x, const Shape& batch) {
  if (batch.empty()) return x;
  Dims size = batch;
  for (int i = std::max(0, x.rank() - 3); i < x.rank(); ++i) size.push_back(x.shape()[i]);
  return expand(x, size);
}
Shape leading(const Shape& s) {
  Shape batch = s;
  batch.resize(std::max(0, s.rank() - 3));
  return batch;
}
}  // namespace

TensorHandle fn::scaled_dot_product_attention(const TensorHandle& given_query, const TensorHandle& given_key,
    const TensorHandle& given_value, const TensorHandle& attn_mask, double dropout_p, bool is_causal, std::optional<double> scale,
    bool enable_gqa) {
  const TensorHandle query = lowered(given_query), key = lowered(given_key), value = lowered(given_value);
  for (const TensorHandle* x : {&query, &key, &value}) require(x->rank() >= 2, "expected at least 2 dimensions: got {}", x->shape());
  require<ValueError>(!attn_mask.defined() || !is_causal, "attn_mask and is_causal exclude each other");
  require<ValueError>(dropout_p >= 0 && dropout_p <= 1, "expected a dropout_p between 0 and 1: got {}", dropout_p);
  const Shape batch = broadcast_shapes(broadcast_shapes(leading(query.shape()), leading(key.shape())), leading(value.shape()));
  const TensorHandle q = four_axes(stretched(query, batch));
  TensorHandle k = four_axes(stretched(key, batch)), v = four_axes(stretched(value, batch));
  const int64_t heads = q.shape()[1];
  if (!enable_gqa) {
    const Shape& s = q.shape();
    if (k.shape()[1] == 1) k = expand(k, Dims{s[0], heads, -1, -1});
    if (v.shape()[1] == 1) v = expand(v, Dims{s[0], heads, -1, -1});
    require(k.shape()[1] == heads && v.shape()[1] == heads,
        "the numbers of heads differ: got {} and {}; use enable_gqa=True for grouped heads", query.shape(), key.shape());
  }
  TensorHandle mask;
  if (attn_mask.defined()) {
    Dims size = batch;
    if (query.rank() > 2) size.push_back(heads);
    size.push_back(q.shape()[2]), size.push_back(k.shape()[2]);
    require<DTypeError>(attn_mask.dtype() == DType::boolean || is_floating(attn_mask.dtype()),
        "expected a mask of bool or a floating dtype: got {}", attn_mask.dtype());
    const TensorHandle same =
        attn_mask.dtype() == DType::boolean || attn_mask.dtype() == q.dtype() ? TensorHandle(attn_mask) : cast(attn_mask, q.dtype());
    mask = four_axes(expand(same, size));
  }
  const Attention a{is_causal, scale.value_or(1 / std::sqrt(std::max(1.0, double(query.shape().back()))))};
  TensorHandle y;
  if (dropout_p > 0 || (mask.defined() && mask.requires_grad())) {  // what the kernels cannot do
    const TensorHandle s = scores(a, q, k, mask), e = exp(s - finite(amax(s, Dims{3}, true))), total = sum(e, Dims{3}, true);
    TensorHandle p = cast(e / where(eq(total, 0.0), 1.0, total), q.dtype());
    if (dropout_p > 0) {
      const TensorHandle kept = draw(p.shape(), Draw::bernoulli, 1 - dropout_p, 0, p.dtype(), &p.device(), nullptr);
      p = dropout_p == 1 ? p * kept : p * kept / (1 - dropout_p);
    }
    y = matmul(p, repeated(v, heads));
  } else {
    y = attention(q, k, v, mask, a.is_causal, a.scale)[0];
  }
  Dims size = batch;
  if (query.rank() > 2) size.push_back(heads);
  size.push_back(q.shape()[2]), size.push_back(v.shape()[3]);
  return query.rank() == 4 ? y : TensorHandle(independent(reshape(y, size)));
}

void register_attention(OpTable& table) {
  table.add({&op::attention, &op::attention_grad});
  table.add(functions);
}

}  // namespace pyburn
