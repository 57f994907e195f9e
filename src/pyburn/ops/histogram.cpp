// Counts of elements between edges.
#include "pyburn/ops/generated/histogram.h"

#include "pyburn/ops/generated/binary.h"
#include "pyburn/ops/generated/copy.h"
#include "pyburn/ops/generated/fill.h"
#include "pyburn/ops/generated/index.h"
#include "pyburn/ops/generated/logic.h"
#include "pyburn/ops/generated/movement.h"
#include "pyburn/ops/generated/reduce.h"
#include "pyburn/ops/generated/scan.h"
#include "pyburn/ops/generated/search.h"
#include "pyburn/ops/rules.h"
#include "pyburn/support/checked.h"

namespace pyburn {
namespace {

constinit FunctionInfo functions[] = {
    {.schema = "histogram(Tensor input, int bins, *, float[]? range=None, Tensor? weight=None, bool density=False) -> (Tensor hist, Tensor "
               "bin_edges)",
        .doc = "Counts the elements (or sums their weights) in bins of equal width; also returns the bin edges.",
        .torch = "lambda x, bins, **k: torch.histogram(x.detach(), bins, **k)",
        .example = "pyburn.histogram(pyburn.tensor([1., 2., 1.]), 4, range=(0., 3.))",
        .samples = R"(
t(20), 4
t(20), 4, range=(-1.0, 1.25)
t(20), 3, weight=positive(20).constant
t(20), bins=4, density=True
t(4, 5), 4, range=(-1.0, 1.0), weight=positive(4, 5).constant, density=True
t(), 3
t(0), 3, range=(0.0, 1.0)
t(4, 5).T, 4
t(4, 1).expand(4, 5), 4
t(20, dtype=f64), 4
t(4), 0 ! bins
t(4), 3, range=(2.0, 1.0) ! range
t(4), 3, range=(2.0,) ! range
t(4, dtype=i64), 3 ! floating
t(4), 3, weight=t(3) ! weight)"},
    {.schema = "histogram.edges(Tensor input, Tensor bins, *, Tensor? weight=None, bool density=False) -> (Tensor hist, Tensor bin_edges)",
        .doc = "Counts the elements (or sums their weights) between the given increasing bin edges.",
        .torch = "lambda x, bins, **k: torch.histogram(x.detach(), bins.detach(), **k)",
        .example = "pyburn.histogram(pyburn.tensor([1., 2., 1.]), pyburn.tensor([0., 1.5, 3.]))",
        .samples = R"(
t(20), tensor([-1., 0., 0.5, 1.25])
tensor([1., 2., 1., 0., 3., -1.]), tensor([0., 1., 2., 3.])
t(20), tensor([-1., 0., 1.25]), weight=positive(20).constant
t(20), tensor([-1., 0., 1.25]), density=True
t(), tensor([-2., 2.])
t(0), tensor([-2., 2.])
t(4, 5).T, tensor([-1., 0., 1.25])
t(4, 1).expand(4, 5), tensor([-1., 0., 1.25])
t(4), t(2, 2) ! 1-d
t(4), t(3, dtype=f64) ! dtype)"},
};

void check(const TensorHandle& x, const TensorHandle& weight) {
  require<DTypeError>(is_floating(x.dtype()), "expected a floating dtype: got {}", x.dtype());
  if (weight.defined())
    require(weight.shape() == x.shape() && weight.dtype() == x.dtype(), "expected a weight of input's shape and dtype: got {} for {}",
        weight.shape(), x.shape());
}
// The sums of weights (of ones) whose bin is `bin`; those with a number outside count nowhere.
Handles<2> counted(const TensorHandle& x, const TensorHandle& bin, const TensorHandle& inside, const TensorHandle& edges,
    const TensorHandle& weight, bool density) {
  const int64_t bins = edges.numel() - 1;
  const TensorHandle amounts = weight.defined() ? reshape(detach(weight), Dims{-1}) : ones(Dims{x.numel()}, x.dtype(), &x.device());
  TensorHandle hist = index_add(zeros(Dims{bins}, x.dtype(), &x.device()), 0, where(inside, bin, 0), where(inside, amounts, 0.0));
  if (density) hist = hist / (diff(edges) * sum(hist));
  return {hist, edges};
}

}  // namespace

Handles<2> fn::histogram(const TensorHandle& input, int64_t bins, const OptionalNumbers& range, const TensorHandle& weight, bool density) {
  check(input, weight);
  require<ValueError>(bins > 0, "expected bins greater than 0: got {}", bins);
  require<ValueError>(!range || (range->size() == 2 && (*range)[0] <= (*range)[1]), "range is two numbers, the smaller one first");
  const TensorHandle x = reshape(detach(input), Dims{-1});
  auto number = [&](double v) { return full(Dims{}, v, x.dtype(), &x.device()); };
  const bool given = range || x.numel() == 0;
  TensorHandle low = given ? number(range ? (*range)[0] : 0) : amin(x), high = given ? number(range ? (*range)[1] : 1) : amax(x);
  const TensorHandle flat = eq(low, high);
  low = where(flat, low - 0.5, low), high = where(flat, high + 0.5, high);
  const TensorHandle parts = arange(0, int64_t(Checked(bins) + 1), 1, x.dtype(), &x.device()) / double(bins), span = high - low;
  const TensorHandle inside = logical_and(ge(x, low), le(x, high));
  const TensorHandle bin = minimum(cast(where(inside, (x - low) / span * double(bins), 0.0), DType::int64), bins - 1);
  return counted(x, bin, inside, low + parts * span, weight, density);
}
Handles<2> fn::histogram(const TensorHandle& input, const TensorHandle& bins, const TensorHandle& weight, bool density) {
  check(input, weight);
  require(bins.rank() == 1 && bins.numel() >= 2, "expected 1-d edges with at least two elements: got {}", bins.shape());
  require<DTypeError>(bins.dtype() == input.dtype(), "expected edges of input's dtype: got {} for {}", bins.dtype(), input.dtype());
  const TensorHandle x = reshape(detach(input), Dims{-1}), edges = detach(bins), last = select(edges, 0, edges.numel() - 1);
  const TensorHandle inside = logical_and(ge(x, select(edges, 0, 0)), le(x, last));
  const TensorHandle bin = minimum(searchsorted(edges, x, false, true) - 1, edges.numel() - 2);  // the last one holds its upper end
  return counted(x, bin, inside, edges, weight, density);
}

void register_histogram(OpTable& table) { table.add(functions); }

}  // namespace pyburn
