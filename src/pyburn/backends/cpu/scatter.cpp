// gather and the forms of scatter: line by line of the index's last axis.
#include "pyburn/ops/scatter.h"

#include <algorithm>
#include <cmath>

#include "pyburn/backends/cpu/cpu_backend.h"
#include "pyburn/backends/cpu/dispatch_dtype.h"
#include "pyburn/backends/cpu/index_rows.h"
#include "pyburn/backends/cpu/scratch_buffer.h"
#include "pyburn/backends/cpu/strided_copy.h"
#include "pyburn/backends/cpu/tiles.h"
#include "pyburn/support/checked.h"
#include "pyburn/support/error.h"
#include "pyburn/support/thread_pool.h"

namespace pyburn::cpu {
namespace {

// Pairs each element of a plain index with the element of a strided tensor that it names.
struct Pairing {
  Shape shape;   // of the index; at least one axis
  Dims strides;  // of the tensor
  int64_t dim = 0, extent = 1;
  const int64_t* index = nullptr;

  Pairing(const TensorHandle& x, int64_t dim, const TensorHandle& places) : shape(places.shape()), strides(x.strides()), dim(dim) {
    if (shape.rank() == 0) shape = Shape{1};
    if (x.rank() == 0) strides = Dims{1};
    else extent = x.shape()[dim];
    index = places.data<int64_t>();
  }
  int last() const { return shape.rank() - 1; }

  void check(int64_t value) const {
    if (value < 0 || value >= extent) [[unlikely]]
      fail<IndexError>("index {} is out of bounds for dimension {} with size {}", value, dim, extent);
  }
  // visit(offset in the tensor, place in the index) for a part [begin, end) of axis `split`, and all of the others.
  template <class Visit>
  void visit(int split, int64_t begin, int64_t end, Visit visit) const {
    Dims at(shape.rank(), 0);
    auto low = [&](int i) { return i == split ? begin : 0; };
    auto high = [&](int i) { return i == split ? end : shape[i]; };
    for (int i = 0; i < shape.rank(); ++i) {
      at[i] = low(i);
      if (low(i) >= high(i)) return;
    }
    const int64_t stride = strides[dim], step = dim == last() ? 0 : strides[last()];
    while (true) {
      int64_t base = 0, place = 0;
      for (int i = 0; i < last(); ++i) {
        if (i != dim) base += at[i] * strides[i];
        place = (place + at[i]) * shape[i + 1];
      }
      for (int64_t j = low(last()); j < high(last()); ++j) {
        const int64_t value = index[place + j];
        check(value);
        visit(base + value * stride + j * step, place + j);
      }
      int i = last() - 1;
      while (i >= 0 && ++at[i] == high(i)) at[i] = low(i), --i;
      if (i < 0) return;
    }
  }
};

TensorHandle plain_index(const TensorHandle& index) {
  return index.dtype() == DType::int64 && index.layout().is_contiguous() ? index : converted(index, DType::int64);
}

// A row of positions stretched over all other axes names whole rows of x, which are read and written much faster. Undefined where
// the index is not of this kind.
TensorHandle positions_of_rows(const TensorHandle& x, int64_t dim, const TensorHandle& index) {
  if (x.rank() == 0 || index.rank() != x.rank()) return {};
  for (int i = 0; i < x.rank(); ++i)
    if (i != dim && (index.shape()[i] != x.shape()[i] || (index.strides()[i] != 0 && index.shape()[i] != 1))) return {};
  const Layout along{Shape{index.shape()[int(dim)]}, Dims{index.strides()[int(dim)]}, index.layout().offset};
  const TensorHandle positions = plain_index(alias(index, along));
  const Pairing pairs(x, dim, positions);
  for (int64_t i = 0; i < positions.numel(); ++i) pairs.check(pairs.index[i]);
  return positions;
}
// Calls use(rows) where the index names rows of x, and these can be used in place. Else says no.
template <class Use>
bool with_rows(const TensorHandle& x, int64_t dim, const TensorHandle& index, bool in_place, Use use) {
  const TensorHandle positions = positions_of_rows(x, dim, index);
  if (!positions.defined()) return false;
  IndexedRows rows(x, int(dim), 1);
  if (in_place && rows.tensor().storage() != x.storage()) return false;
  const TensorHandle* const list[] = {&positions};
  rows.find_places(list, positions.shape(), false);
  use(rows);
  return true;
}

void gather(const Gather& a, Inputs in, Outputs out) {
  const TensorHandle& x = *in[0];
  if (in[1]->numel() == 0) return;
  const TensorHandle y = out[0].layout().is_contiguous() ? out[0] : scratch(out[0], x.dtype());
  if (with_rows(x, a.dim, *in[1], false, [&](IndexedRows& rows) { rows.read_into(y); })) {
    if (!y.is_same(out[0])) convert_into(y, out[0]);
    return;
  }
  const TensorHandle index = plain_index(*in[1]);
  const Pairing pairs(x, a.dim, index);
  int split = 0;
  for (int i = 1; i < pairs.shape.rank(); ++i)
    if (pairs.shape[i] > pairs.shape[split]) split = i;
  with_element_size(size_of(x.dtype()), [&]<class T>(T*) {
    const T* from = static_cast<const T*>(first_element(x));
    T* to = static_cast<T*>(first_element(y));
    const int64_t n = pairs.shape[split];
    parallel_for(n, std::max<int64_t>(1, kGrain * n / index.numel()), [&](int64_t begin, int64_t end) {
      pairs.visit(split, begin, end, [&](int64_t offset, int64_t place) { to[place] = from[offset]; });
    });
  });
  if (!y.is_same(out[0])) convert_into(y, out[0]);
}

// Elements that come to one place stay in order and on one thread: threads share an axis other than dim, or, where there
// is none, the places.
template <class Visit>
void visit_in_order(const Pairing& pairs, int64_t elements, Visit visit) {
  int split = -1;
  for (int i = 0; i < pairs.shape.rank(); ++i)
    if (i != pairs.dim && (split < 0 || pairs.shape[i] > pairs.shape[split])) split = i;
  if (split >= 0 && pairs.shape[split] > 1) {
    const int64_t n = pairs.shape[split];
    int64_t grain = std::max<int64_t>(1, kGrain * n / elements);
    if (split == pairs.last()) grain = std::max<int64_t>(grain, (n / num_threads() + 15) / 16 * 16);  // cache lines are not shared
    parallel_for(n, grain, [&](int64_t begin, int64_t end) { pairs.visit(split, begin, end, visit); });
    return;
  }
  const int64_t parts = elements > kGrain ? num_threads() : 1, span = (pairs.extent - 1) * pairs.strides[pairs.dim] + 1;
  parallel_for(parts, 1, [&](int64_t begin, int64_t end) {
    for (int64_t part = begin; part < end; ++part) {
      const int64_t first = part_begin(span, part, parts), last = part_begin(span, part + 1, parts);
      pairs.visit(-1, 0, 0, [&](int64_t offset, int64_t place) {
        if (offset >= first && offset < last) visit(offset, place);
      });
    }
  });
}

template <class T>
T larger(T a, T b) {
  if constexpr (std::is_floating_point_v<T>)
    if (std::isnan(a) || std::isnan(b)) return a + b;
  return std::max(a, b);
}
template <class T>
T smaller(T a, T b) {
  if constexpr (std::is_floating_point_v<T>)
    if (std::isnan(a) || std::isnan(b)) return a + b;
  return std::min(a, b);
}
template <class T>
T identity(Reduction r) {
  constexpr T lowest = std::numeric_limits<T>::has_infinity ? T(-std::numeric_limits<T>::infinity()) : std::numeric_limits<T>::lowest();
  constexpr T highest = std::numeric_limits<T>::has_infinity ? std::numeric_limits<T>::infinity() : std::numeric_limits<T>::max();
  return r == Reduction::prod ? T(1) : r == Reduction::amax ? lowest : r == Reduction::amin ? highest : T(0);
}

bool is_same_place(const TensorHandle& x, const TensorHandle& y) { return x.storage() == y.storage() && x.layout() == y.layout(); }

// The part of src that the index covers, contiguous.
TensorHandle used_of(const TensorHandle& src, const Shape& index, DType dtype) {
  const Dims strides = index.rank() == src.rank() ? src.strides() : contiguous_strides(index);
  const TensorHandle used = alias(src, {index, strides, src.layout().offset});
  return src.dtype() == dtype ? plain(used) : converted(used, dtype);
}

// y = x with src at the places of the index. y may be x itself.
void scatter(const Gather& a, Inputs in, Outputs out) {
  const TensorHandle &x = *in[0], &y = out[0];
  if (!is_same_place(x, y)) convert_into(x, y);
  if (in[1]->numel() == 0) return;
  const TensorHandle src = used_of(*in[2], in[1]->shape(), x.dtype());
  if (with_rows(y, a.dim, *in[1], true, [&](IndexedRows& rows) { rows.write_from(src); })) return;
  const TensorHandle index = plain_index(*in[1]);
  const Pairing pairs(y, a.dim, index);
  with_element_size(size_of(x.dtype()), [&]<class T>(T*) {
    T* to = static_cast<T*>(first_element(y));
    const T* from = static_cast<const T*>(first_element(src));
    visit_in_order(pairs, index.numel(), [=](int64_t at, int64_t i) { to[at] = from[i]; });
  });
}

// As above, with elements of the same position reduced, in the compute dtype.
void reduce_into(const TensorHandle& x, int64_t dim, const TensorHandle& index_, const TensorHandle& src_, Reduction how, bool include_self,
    TensorHandle& out) {
  const DType compute = compute_dtype(x.dtype());
  const bool widened = compute != x.dtype();
  if (!widened && !is_same_place(x, out)) convert_into(x, out);
  const TensorHandle y = widened ? converted(x, compute) : out;
  auto add_rows = [&] {
    return how == Reduction::sum && include_self &&
           with_rows(y, dim, index_, true, [&](IndexedRows& rows) { rows.add_from(used_of(src_, index_.shape(), compute), 1); });
  };
  if (index_.numel() > 0 && !add_rows()) {
    const TensorHandle index = plain_index(index_), src = used_of(src_, index.shape(), compute);
    const Pairing pairs(y, dim, index);
    auto visit = [&](auto body) { visit_in_order(pairs, index.numel(), body); };
    with_compute_type(compute, [&]<class T>(T*) {
      T* to = y.data<T>();
      const T* from = src.data<T>();
      if (!include_self) visit([to, start = identity<T>(how)](int64_t at, int64_t) { to[at] = start; });
      if (how == Reduction::prod) visit([=](int64_t at, int64_t i) { to[at] = T(to[at] * from[i]); });
      else if (how == Reduction::amax) visit([=](int64_t at, int64_t i) { to[at] = larger(to[at], from[i]); });
      else if (how == Reduction::amin) visit([=](int64_t at, int64_t i) { to[at] = smaller(to[at], from[i]); });
      else visit([=](int64_t at, int64_t i) { to[at] = T(to[at] + from[i]); });
      if (how != Reduction::mean) return;
      const auto [first, end] = y.layout().extent();
      ScratchBuffer<int64_t> counts(end - first);
      int64_t* count = std::fill_n(counts.data(), end - first, 0) - (end - first);
      visit([=](int64_t at, int64_t) { ++count[at]; });
      visit([=](int64_t at, int64_t) {  // the first visit of a place divides
        const int64_t n = count[at] + (include_self ? 1 : 0);
        if (count[at] > 0 && n > 1) {
          if constexpr (std::is_floating_point_v<T>) to[at] = to[at] / T(n);
          else to[at] = T(std::floor(double(to[at]) / double(n)));
        }
        count[at] = 0;
      });
    });
  }
  if (widened) convert_into(y, out);
}

void scatter_add(const Gather& a, Inputs in, Outputs out) { reduce_into(*in[0], a.dim, *in[1], *in[2], Reduction::sum, true, out[0]); }
void scatter_reduce(const ScatterReduce& a, Inputs in, Outputs out) {
  reduce_into(*in[0], a.dim, *in[1], *in[2], a.reduce, a.include_self, out[0]);
}

}  // namespace

void register_scatter(KernelTable& kernels) {
  kernels.add_for_all<gather>(op::gather);
  kernels.add_for_all<scatter>(op::scatter_src);
  kernels.add_for_all<scatter_add>(op::scatter_add);
  kernels.add_for_all<scatter_reduce>(op::scatter_reduce);
}

}  // namespace pyburn::cpu
