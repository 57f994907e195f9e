// Places in sorted sequences, counts of values, distinct values.
#include "pyburn/ops/search.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "pyburn/backends/cpu/axis_walk.h"
#include "pyburn/backends/cpu/cpu_backend.h"
#include "pyburn/backends/cpu/dispatch_dtype.h"
#include "pyburn/backends/cpu/sort_keys.h"
#include "pyburn/support/checked.h"
#include "pyburn/support/error.h"
#include "pyburn/support/thread_pool.h"

namespace pyburn::cpu {
namespace {

void searchsorted(const SearchSorted& a, const TensorHandle& sorted_, const TensorHandle& values_, TensorHandle& y) {
  const DType compute = compute_dtype(sorted_.dtype());
  const TensorHandle sorted = plain(sorted_, compute), values = plain(values_, compute);
  const PlainTarget to(y, DType::int64);
  const int64_t n = sorted.shape().back();
  const int64_t per_row = sorted.rank() > 1 ? std::max<int64_t>(1, values.shape().back()) : std::max<int64_t>(1, values.numel());
  with_compute_type(compute, [&]<class T>(T*) {
    parallel_for(values.numel(), 4096, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const T* row = sorted.data<T>() + i / per_row * n;
        const T v = values.data<T>()[i];
        // NaN is not less than anything, so it goes to the end.
        const T* place = a.right ? std::partition_point(row, row + n, [v](T m) { return !(m > v); })
                                 : std::partition_point(row, row + n, [v](T m) { return !(m >= v); });
        to.data<int64_t>()[i] = place - row;
      }
    });
  });
  to.finish();
}

void histc(const Histogram& a, const TensorHandle& x_, TensorHandle& y) {
  const TensorHandle x = plain(x_, DType::float64);
  const double* p = x.data<double>();
  const int64_t n = x.numel();
  double low = a.min, high = a.max;
  if (low == high && n > 0) {
    const auto [least, most] = std::minmax_element(p, p + n);
    low = *least;
    high = *most;
  }
  require<ValueError>(std::isfinite(low) && std::isfinite(high), "the range of the bins is not finite: got {} to {}", low, high);
  if (low == high) {
    low -= 1;
    high += 1;
  }
  const PlainTarget counts(y, DType::float64);
  std::fill_n(counts.data<double>(), a.bins, 0.0);
  for (int64_t i = 0; i < n; ++i) {
    const double v = p[i];
    if (!(v >= low && v <= high)) continue;
    const double place = (v / 2 - low / 2) / (high / 2 - low / 2) * double(a.bins);  // halves: the range itself may overflow
    const int64_t bin = place < double(a.bins) ? int64_t(place) : a.bins - 1;        // the last bin holds its upper end
    counts.data<double>()[std::clamp<int64_t>(bin, 0, a.bins - 1)] += 1;
  }
  counts.finish();
}

TensorHandle fresh(const TensorHandle& like, DType dtype, const Shape& shape) {
  return make_tensor(like.device(), dtype, contiguous_layout(shape), cpu_backend().allocate(dtype, shape.numel()));
}

void bincount(const BinCount& a, Inputs in, Outputs out) {
  const TensorHandle& x = *in[0];
  require<DTypeError>(is_integral(x.dtype()) && x.dtype() != DType::boolean, "expected integers: got {}", x.dtype());
  require(x.rank() == 1, "expected a vector: got {}", x.shape());
  require<ValueError>(a.minlength >= 0, "expected minlength of at least 0: got {}", a.minlength);
  const TensorHandle numbers = plain(x, DType::int64);
  const int64_t *p = numbers.data<int64_t>(), n = x.numel();
  int64_t length = a.minlength;
  for (int64_t i = 0; i < n; ++i) {
    const int64_t number = p[i];
    require<ValueError>(number >= 0, "negative numbers cannot be counted: got {}", number);
    length = std::max<int64_t>(length, Checked(number) + 1);
  }
  const auto number_at = [&](int64_t i) {  // another thread may have written it meanwhile
    const int64_t number = p[i];
    require<ValueError>(number >= 0 && number < length, "the numbers changed while they were counted: got {}", number);
    return number;
  };
  if (!in[1]->defined()) {
    out[0] = fresh(x, DType::int64, Shape{length});
    std::fill_n(out[0].data<int64_t>(), length, 0);
    for (int64_t i = 0; i < n; ++i) ++out[0].data<int64_t>()[number_at(i)];
    return;
  }
  require(in[1]->shape() == x.shape(), "expected a weight for each number: got {} for {}", in[1]->shape(), x.shape());
  const TensorHandle weights = plain(*in[1], DType::float64);
  const DType dtype = in[1]->dtype() == DType::float32 ? DType::float32 : DType::float64;
  const TensorHandle sums = fresh(x, DType::float64, Shape{length});
  std::fill_n(sums.data<double>(), length, 0.0);
  for (int64_t i = 0; i < n; ++i) sums.data<double>()[number_at(i)] += weights.data<double>()[i];
  out[0] = plain(sums, dtype);
}

// Parts along one axis, as (outer, parts, inner); of the flattened tensor every element is a part.
template <class T>
struct Parts {
  const T* data;
  Axis axis;
  bool equal(int64_t a, int64_t b) const {
    for (int64_t o = 0; o < axis.outer; ++o)
      for (int64_t i = 0; i < axis.inner; ++i)
        if (at(o, a, i) != at(o, b, i)) return false;
    return true;
  }
  bool less(int64_t a, int64_t b) const {
    for (int64_t o = 0; o < axis.outer; ++o)
      for (int64_t i = 0; i < axis.inner; ++i) {
        const auto x = key_of(at(o, a, i)), y = key_of(at(o, b, i));
        if (x != y) return x < y;
      }
    return false;
  }
  T at(int64_t outer, int64_t part, int64_t inner) const { return data[(outer * axis.extent + part) * axis.inner + inner]; }
};

template <class T>
std::vector<int64_t> order_of(const Parts<T>& parts, bool as_they_are) {
  const int64_t n = parts.axis.extent;
  std::vector<int64_t> order(static_cast<size_t>(n));
  std::iota(order.begin(), order.end(), 0);
  if (as_they_are) return order;
  if (parts.axis.outer * parts.axis.inner != 1) {
    std::stable_sort(order.begin(), order.end(), [&](int64_t a, int64_t b) { return parts.less(a, b); });
    return order;
  }
  std::vector<Entry<KeyOf<T>>> entries(size_t(n), Entry<KeyOf<T>>{}), spare(size_t(n), Entry<KeyOf<T>>{});
  make_entries(parts.data, 1, n, false, entries.data());
  sort_entries(entries.data(), spare.data(), n);
  for (size_t i = 0; i < size_t(n); ++i) order[i] = entries[i].at;
  return order;
}

void distinct(const Distinct& a, Inputs in, Outputs out) {
  const TensorHandle& given = *in[0];
  const DType compute = compute_dtype(given.dtype());
  const TensorHandle x = converted(given, compute);  // a copy: sorting needs elements that no other thread writes
  Axis axis;
  if (a.dim >= 0) axis = Axis(x.shape(), a.dim);
  else axis.extent = x.numel();
  const int64_t n = axis.extent;
  out[1] = fresh(given, DType::int64, a.dim >= 0 ? Shape{n} : given.shape());
  with_compute_type(compute, [&]<class T>(T*) {
    const Parts<T> parts{x.data<T>(), axis};
    const std::vector<int64_t> order = order_of(parts, a.consecutive);
    std::vector<int64_t> firsts, counts;
    for (size_t i = 0; i < order.size(); ++i) {
      if (i == 0 || !parts.equal(order[i - 1], order[i])) {
        firsts.push_back(order[i]);
        counts.push_back(0);
      }
      ++counts.back();
      out[1].data<int64_t>()[order[i]] = int64_t(firsts.size()) - 1;
    }
    const int64_t found = int64_t(firsts.size());
    out[2] = fresh(given, DType::int64, Shape{found});
    std::copy(counts.begin(), counts.end(), out[2].data<int64_t>());
    Shape shape{found};
    if (a.dim >= 0) {
      shape = given.shape();
      if (shape.rank() > 0) shape[a.dim] = found;
      else shape = Shape{};
    }
    const TensorHandle values = fresh(given, compute, shape);
    T* to = values.data<T>();
    for (int64_t o = 0; o < axis.outer; ++o)
      for (int64_t part : firsts)
        for (int64_t i = 0; i < axis.inner; ++i) *to++ = parts.at(o, part, i);
    out[0] = compute == given.dtype() ? values : fresh(given, given.dtype(), shape);
    if (compute != given.dtype()) convert_into(values, out[0]);
  });
}

}  // namespace

void register_search(KernelTable& kernels) {
  kernels.add_for_all<searchsorted>(op::searchsorted);
  kernels.add_for_all<histc>(op::histc);
  kernels.add_for_all<bincount>(op::bincount);
  kernels.add_for_all<distinct>(op::distinct);
}

}  // namespace pyburn::cpu
