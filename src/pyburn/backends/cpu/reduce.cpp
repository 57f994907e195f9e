// sum, mean, amax, amin, argmax.
#include "pyburn/ops/reduce.h"

#include <algorithm>
#include <limits>

#include "pyburn/backends/cpu/cpu_backend.h"
#include "pyburn/backends/cpu/tiles.h"
#include "pyburn/support/thread_pool.h"

namespace pyburn::cpu {
namespace {

struct Sum {
  template <class A> static A first() { return A(0); }
  template <class A> static A join(A a, A b) { return a + b; }
  template <class A> static A finish(A y, int64_t) { return y; }
};
struct Mean : Sum {
  template <class A> static A finish(A y, int64_t n) { return y / A(n); }
};
struct Amax : Sum {
  template <class A, class L = std::numeric_limits<A>> static A first() { return L::has_infinity ? -L::infinity() : L::lowest(); }
  template <class A> static A join(A a, A b) { return b > a || b != b ? b : a; }  // NaN wins, as in PyTorch
};
struct Amin : Sum {
  template <class A, class L = std::numeric_limits<A>> static A first() { return L::has_infinity ? L::infinity() : L::max(); }
  template <class A> static A join(A a, A b) { return b < a || b != b ? b : a; }
};

// x split into the axes that stay (one result each) and those that are folded.
struct Plan {
  Layout kept, folded;
};
Plan split(const Layout& x, const Dims& dim) {
  Plan p;
  for (int i = 0; i < x.rank(); ++i) {
    Layout& part = std::find(dim.begin(), dim.end(), i) != dim.end() ? p.folded : p.kept;
    part.shape.push_back(x.shape[i]);
    part.strides.push_back(x.strides[i]);
  }
  return p;
}

// Calls row(offset, stride, n) for each innermost run of a layout.
template <class Row>
void for_each_run(const Layout& l, Row row) {
  const Layout* one[] = {&l};
  const Loop loop = collapse(one);
  const int axes = int(loop.shape.size());
  if (l.numel() == 0) return;
  if (axes == 0) return row(int64_t(0), int64_t(1), int64_t(1));
  Dims index(axes, 0);
  const Dims& s = loop.strides[0];
  for (;;) {
    int64_t offset = 0;
    for (int i = 0; i + 1 < axes; ++i) offset += index[i] * s[i];
    row(offset, s[axes - 1], loop.shape[axes - 1]);
    int i = axes - 2;
    while (i >= 0 && ++index[i] == loop.shape[i]) index[i--] = 0;
    if (i < 0) return;
  }
}

// Offsets of all indices of a layout, in row-major order: the results of a reduction.
struct Offsets {
  const Layout& l;
  int64_t operator()(int64_t linear) const {
    int64_t o = 0;
    for (int i = l.rank() - 1; i >= 0; --i) {
      o += linear % l.shape[i] * l.strides[i];
      linear /= l.shape[i];
    }
    return o;
  }
};

// Floats accumulate in double: exact enough for any length.
template <class Fold, class T, class A>
void reduce(const Reduce& a, const TensorHandle& x, TensorHandle& y) {
  const Plan plan = split(x.layout(), a.dim);
  const int64_t results = plan.kept.numel(), folded = plan.folded.numel();
  const T* from = x.data<T>();
  Layout target = y.layout();
  if (a.keepdim) {  // drop the kept-as-1 axes, so that y is indexed like plan.kept
    target = {};
    for (int i = 0; i < y.rank(); ++i)
      if (std::find(a.dim.begin(), a.dim.end(), i) == a.dim.end()) {
        target.shape.push_back(y.shape()[i]);
        target.strides.push_back(y.strides()[i]);
      }
  }
  T* to = y.data<T>();
  const bool columns = !plan.kept.shape.empty() && plan.kept.strides.back() == 1 && plan.kept.shape.back() > 1 &&
                       (plan.folded.shape.empty() || plan.folded.strides.back() != 1);
  const Offsets out{target}, in{plan.kept};
  if (columns) {  // neighbours in memory belong to different results: fold a tile of results at a time
    constexpr int64_t kColumns = 256;
    const int64_t width = plan.kept.shape.back(), tiles = (width + kColumns - 1) / kColumns, rows = results / std::max<int64_t>(width, 1);
    parallel_for(rows * tiles, std::max<int64_t>(1, kGrain / std::max<int64_t>(1, folded * kColumns)), [&](int64_t begin, int64_t end) {
      for (int64_t k = begin; k < end; ++k) {
        const int64_t first = k / tiles * width + k % tiles * kColumns, n = std::min(kColumns, width - k % tiles * kColumns);
        A acc[kColumns];
        std::fill_n(acc, n, Fold::template first<A>());
        const T* base = from + in(first);
        for_each_run(plan.folded, [&](int64_t offset, int64_t stride, int64_t m) {
          for (int64_t j = 0; j < m; ++j) {
            const T* p = base + offset + j * stride;
            for (int64_t i = 0; i < n; ++i) acc[i] = Fold::join(acc[i], A(p[i]));
          }
        });
        for (int64_t i = 0; i < n; ++i) to[out(first + i)] = T(Fold::finish(acc[i], folded));
      }
    });
    return;
  }
  parallel_for(results, std::max<int64_t>(1, kGrain / std::max<int64_t>(folded, 1)), [&](int64_t begin, int64_t end) {
    for (int64_t k = begin; k < end; ++k) {
      const T* base = from + in(k);
      A lanes[8];
      std::fill_n(lanes, 8, Fold::template first<A>());
      for_each_run(plan.folded, [&](int64_t offset, int64_t stride, int64_t m) {
        const T* p = base + offset;
        int64_t j = 0;
        if (stride == 1)
          for (; j + 8 <= m; j += 8)
            for (int i = 0; i < 8; ++i) lanes[i] = Fold::join(lanes[i], A(p[j + i]));
        for (; j < m; ++j) lanes[0] = Fold::join(lanes[0], A(p[j * stride]));
      });
      A total = lanes[0];
      for (int i = 1; i < 8; ++i) total = Fold::join(total, lanes[i]);
      to[out(k)] = T(Fold::finish(total, folded));
    }
  });
}

// Other dtypes go through a copy in their compute dtype.
template <class Fold>
void reduce_converted(const Reduce& a, const TensorHandle& x, TensorHandle& y) {
  const DType compute = compute_dtype(x.dtype());
  const TensorHandle xc = converted(x, compute);
  TensorHandle yc = scratch(y, compute);
  switch (compute) {
    case DType::float32: reduce<Fold, float, double>(a, xc, yc); break;
    case DType::int32: reduce<Fold, int32_t, int64_t>(a, xc, yc); break;
    case DType::uint64: reduce<Fold, uint64_t, uint64_t>(a, xc, yc); break;
    default: reduce<Fold, int64_t, int64_t>(a, xc, yc);
  }
  convert_into(yc, y);
}

template <class Fold>
void add(KernelTable& kernels, const OpInfo& op) {
  kernels.add_for_all<reduce_converted<Fold>>(op);
  kernels.add<reduce<Fold, float, double>>(op, DType::float32);
  kernels.add<reduce<Fold, double, double>>(op, DType::float64);
  kernels.add<reduce<Fold, int64_t, int64_t>>(op, DType::int64);
  kernels.add<reduce<Fold, int32_t, int64_t>>(op, DType::int32);
}

void argmax(const ArgReduce& a, const TensorHandle& x, TensorHandle& y) {
  const DType compute = is_floating(x.dtype()) ? DType::float64 : DType::int64;
  const TensorHandle xc = converted(x, compute);
  int64_t outer = 1, n = x.numel(), inner = 1;
  if (a.dim >= 0 && x.rank() > 0) {
    n = x.shape()[a.dim];
    for (int i = 0; i < a.dim; ++i) outer *= x.shape()[i];
    for (int i = int(a.dim) + 1; i < x.rank(); ++i) inner *= x.shape()[i];
  }
  auto find = [&](auto* p) {
    int64_t* to = y.data<int64_t>();
    const Offsets out{y.layout()};
    for (int64_t o = 0; o < outer; ++o)
      for (int64_t i = 0; i < inner; ++i) {
        int64_t best = 0;
        for (int64_t j = 1; j < n; ++j) {
          const auto v = p[(o * n + j) * inner + i], b = p[(o * n + best) * inner + i];
          if (v > b || (v != v && b == b)) best = j;
        }
        to[out(o * inner + i)] = best;
      }
  };
  compute == DType::float64 ? find(xc.data<double>()) : find(xc.data<int64_t>());
}

}  // namespace

void register_reduce(KernelTable& kernels) {
  add<Sum>(kernels, op::sum);
  add<Mean>(kernels, op::mean);
  add<Amax>(kernels, op::amax);
  add<Amin>(kernels, op::amin);
  kernels.add_for_all<argmax>(op::argmax);
}

}  // namespace pyburn::cpu
