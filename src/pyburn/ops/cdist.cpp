// Distances of all rows of one matrix from all rows of another.
#include "pyburn/ops/cdist.h"

#include <algorithm>
#include <cmath>

#include "pyburn/ops/generated/binary.h"
#include "pyburn/ops/generated/cdist.h"
#include "pyburn/ops/generated/fill.h"
#include "pyburn/ops/generated/join.h"
#include "pyburn/ops/generated/movement.h"
#include "pyburn/ops/generated/reduce.h"
#include "pyburn/ops/generated/vector_norm.h"
#include "pyburn/ops/rules.h"
#include "pyburn/ops/vector_norm.h"

namespace pyburn {
namespace {

Meta infer(const CrossDistances& a, Metas in) {
  const Shape &x1 = in[0].shape, &x2 = in[1].shape;
  require(x1.rank() >= 2 && x1.rank() == x2.rank(), "expected two tensors with the same number of dimensions, at least 2: got {} and {}",
      x1, x2);
  require<DTypeError>(is_floating(in[0].dtype) && in[0].dtype == in[1].dtype, "expected tensors of one floating dtype: got {} and {}",
      in[0].dtype, in[1].dtype);
  Shape result = x1;
  for (int i = 0; i < x1.rank(); ++i)
    require(x1[i] == x2[i] || i == x1.rank() - 2, "expected equal sizes, except in the second to last dimension: got {} and {}", x1, x2);
  result[x1.rank() - 1] = x2[x1.rank() - 2];
  if (a.p < 0 || std::isinf(a.p)) require(x1.back() > 0, "a norm of order {} of no elements is not defined: got {}", a.p, x1);
  return {result, in[0].dtype};
}

// The differences of all pairs of rows are too many to be kept at once. Calls use(start, length) for runs of rows of x1 whose differences
// take no more memory than 16 MB of float32, or than x2 does.
template <class Use>
void in_runs(const Shape& x1, const Shape& x2, Use use) {
  constexpr int64_t kMost = 1 << 22;
  const int64_t rows = x1[x1.rank() - 2], length = std::max<int64_t>(1, kMost / std::max<int64_t>(1, x2.numel()));
  for (int64_t start = 0; start == 0 || start < rows; start += length) use(start, std::min(length, rows - start));
}
TensorHandle differences(const TensorHandle& x1, const TensorHandle& x2) { return unsqueeze(x1, -2) - unsqueeze(x2, -3); }
TensorHandle joined(const Tensors& runs) { return runs.size() == 1 ? runs[0] : TensorHandle(cat(runs, -2)); }

TensorHandle by_norms(const CrossDistances& a, Inputs in) {
  const TensorHandle &x1 = *in[0], &x2 = *in[1];
  Tensors runs;
  in_runs(x1.shape(), x2.shape(), [&](int64_t start, int64_t length) {
    runs.push_back(linalg_vector_norm(differences(narrow(x1, -2, start, length), x2), a.p, Dims{-1}));
  });
  return joined(runs);
}

// What the gradient rule of the norm reads.
class NormContext final : public GradContext {
 public:
  NormContext(TensorHandle x, TensorHandle y, TensorHandle dy) : x_(std::move(x)), y_(std::move(y)), dy_(std::move(dy)), of_x_(x_.meta()) {}
  const TensorHandle& dy(int) const override { return dy_; }
  bool has_dy(int) const override { return true; }
  TensorHandle input(int) const override { return x_; }
  TensorHandle output(int) const override { return y_; }
  const Meta& meta(int) const override { return of_x_; }
  bool needs(int) const override { return true; }
  int inputs() const override { return 1; }

 private:
  TensorHandle x_, y_, dy_;
  Meta of_x_;
};

Grads grad(const CrossDistances& a, const GradContext& c) {
  const TensorHandle x1 = c.input(0), x2 = c.input(1), y = c.output();
  const VectorNorm norm{a.p, Dims{x1.rank()}, false, x1.dtype()};
  const OpRef op{&op::linalg_vector_norm, &norm};
  Tensors dx1;
  TensorHandle dx2;
  in_runs(x1.shape(), x2.shape(), [&](int64_t start, int64_t length) {
    const auto rows = [&](const TensorHandle& t) { return TensorHandle(narrow(t, -2, start, length)); };
    const TensorHandle d = op.info->grad(op, NormContext(differences(rows(x1), x2), rows(y), rows(c.dy())))[0];
    if (c.needs(0)) dx1.push_back(sum(d, Dims{-2}));
    if (!c.needs(1)) return;
    const TensorHandle part = -sum(d, Dims{-3});
    dx2 = dx2.defined() ? dx2 + part : part;
  });
  return {c.needs(0) ? joined(dx1) : TensorHandle(), dx2};
}

}  // namespace

namespace op {
constinit OpInfo _cdist = define<CrossDistances, infer, grad, by_norms>({.schema = "_cdist(Tensor x1, Tensor x2, float p=2.0) -> Tensor",
    .doc = "Computes cdist for tensors of one dtype and equal batch dimensions.",
    .saves = inputs | outputs,
    .torch = "torch.cdist",
    .example = "pyburn.cdist(pyburn.zeros(1, 4), pyburn.ones(2, 4))",
    .samples = R"(
t(2, 3), t(4, 3)
t(2, 3), t(4, 3), 1.0
t(2, 2, 3), t(2, 4, 3), 3.0
t(2, 3), t(4, 3), inf
t(0, 3), t(4, 3)
t(3, 2).T, t(4, 3)
t(1, 3).expand(2, 3), t(4, 3)
t(), t() ! at least 2
t(3), t(3) ! at least 2
t(2, 3), t(4, 2) ! equal sizes
t(2, 3), t(4, 3, dtype=f64) ! one floating dtype)"});
}  // namespace op

void register_cdist(OpTable& table) { table.add({&op::_cdist}); }

}  // namespace pyburn
