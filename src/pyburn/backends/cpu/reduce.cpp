// sum, mean, amax, amin. One driver for all: it cuts the work into blocks, the same whatever the number of threads, and calls
// the folds of fold-inl.h through a table.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "pyburn/backends/cpu/reduce.cpp"
#include <hwy/foreach_target.h>
// After foreach_target.
#include <hwy/highway.h>

#include <algorithm>
#include <array>

#include "pyburn/backends/cpu/cpu_backend.h"
#include "pyburn/backends/cpu/fold-inl.h"
#include "pyburn/backends/cpu/scratch_buffer.h"
#include "pyburn/backends/cpu/tiles.h"
#include "pyburn/ops/reduce.h"
#include "pyburn/support/thread_pool.h"

#ifndef PYBURN_REDUCE_TYPES
#define PYBURN_REDUCE_TYPES
namespace pyburn::cpu {

// One fold of one element type. A partial result takes at most 8 bytes.
struct FoldFunctions {
  int64_t element, partial;  // sizes in bytes
  void (*start)(void* acc, int64_t n);
  void (*block)(const void* p, int64_t kept_stride, int64_t results, int64_t stride, int64_t n, void* acc);
  void (*join)(void* acc, const void* other, int64_t n);
  void (*finish)(const void* acc, int64_t n, int64_t folded, void* y, int64_t stride);
};
enum FoldName { kSum, kMean, kAmax, kAmin, kFolds };
using FoldTable = std::array<std::array<FoldFunctions, 5>, kFolds>;  // float double int32 int64 uint64

}  // namespace pyburn::cpu
#endif

HWY_BEFORE_NAMESPACE();
namespace pyburn::cpu::HWY_NAMESPACE {
namespace {

template <class Fold, class T>
struct Erased {
  using A = typename Fold::template Partial<T>;
  static void start(void* acc, int64_t n) { std::fill_n(static_cast<A*>(acc), n, Fold::template first<A>()); }
  static void block(const void* p, int64_t kept_stride, int64_t results, int64_t stride, int64_t n, void* acc) {
    fold_block<Fold>(static_cast<const T*>(p), kept_stride, results, stride, n, static_cast<A*>(acc));
  }
  static void join(void* acc, const void* other, int64_t n) {
    for (int64_t i = 0; i < n; ++i) static_cast<A*>(acc)[i] = Fold::join(static_cast<A*>(acc)[i], static_cast<const A*>(other)[i]);
  }
  static void finish(const void* acc, int64_t n, int64_t folded, void* y, int64_t stride) {
    for (int64_t i = 0; i < n; ++i) static_cast<T*>(y)[i * stride] = T(Fold::finish(static_cast<const A*>(acc)[i], folded));
  }
  static constexpr FoldFunctions functions{sizeof(T), sizeof(A), start, block, join, finish};
};
template <class Fold>
constexpr std::array<FoldFunctions, 5> all_types() {
  return {Erased<Fold, float>::functions, Erased<Fold, double>::functions, Erased<Fold, int32_t>::functions,
      Erased<Fold, int64_t>::functions, Erased<Fold, uint64_t>::functions};
}
FoldTable make_folds() { return {all_types<Sum>(), all_types<Mean>(), all_types<Amax>(), all_types<Amin>()}; }

}  // namespace
}  // namespace pyburn::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace pyburn::cpu {
namespace {

HWY_EXPORT(make_folds);

const FoldFunctions& fold_functions(FoldName name, DType dtype) {
  static const FoldTable table = HWY_DYNAMIC_DISPATCH(make_folds)();
  const int type = dtype == DType::float32 ? 0 : dtype == DType::float64 ? 1 : dtype == DType::int32 ? 2 : dtype == DType::int64 ? 3 : 4;
  return table[name][size_t(type)];
}

constexpr int64_t kResults = 256;  // per block

// x and y split into the axes that stay and those that are folded; each in order of memory, with as few axes as possible.
struct Plan {
  Loop kept;                      // strides[0] of y, strides[1] of x
  Loop folded;                    // strides[0] of x
  int64_t results, folds, width;  // width: extent of the innermost kept axis

  Plan(const Reduce& a, const TensorHandle& x, const TensorHandle& y) {
    Layout kept_x, kept_y, folded_x;
    for (int i = 0, at = 0; i < x.rank(); ++i) {
      const bool fold = std::find(a.dim.begin(), a.dim.end(), i) != a.dim.end();
      Layout& part = fold ? folded_x : kept_x;
      part.shape.push_back(x.shape()[i]);
      part.strides.push_back(x.strides()[i]);
      if (!fold) {
        kept_y.shape.push_back(y.shape()[at]);
        kept_y.strides.push_back(y.strides()[at]);
      }
      at += !fold || a.keepdim;
    }
    const Layout* kept_layouts[] = {&kept_y, &kept_x};
    const Layout* folded_layouts[] = {&folded_x};
    kept = collapse(kept_layouts);
    folded = collapse(folded_layouts);
    results = kept_x.numel();
    folds = folded_x.numel();
    width = kept.inner();
  }
  int64_t inner_stride(const Loop& loop, int layout) const { return loop.shape.empty() ? 0 : loop.strides[layout].back(); }
};

// Offset of the `linear`-th index over the axes [0, axes) of a loop.
int64_t offset_of(const Loop& loop, int layout, int64_t axes, int64_t linear) {
  int64_t offset = 0;
  for (int64_t i = axes - 1; i >= 0; --i) {
    offset += linear % loop.shape[i] * loop.strides[layout][i];
    linear /= loop.shape[i];
  }
  return offset;
}

// Folds into acc the results of one block, over the part [begin, end) of the outermost folded axis.
void fold_part(const FoldFunctions& fold, const Plan& plan, const char* x, int64_t results, int64_t begin, int64_t end, void* acc) {
  const Loop& f = plan.folded;
  const int64_t axes = f.shape.size(), kept_stride = plan.inner_stride(plan.kept, 1);
  fold.start(acc, results);
  if (plan.folds == 0) return;
  if (axes <= 1) {
    const int64_t stride = axes ? f.strides[0][0] : 1;
    return fold.block(x + begin * stride * fold.element, kept_stride, results, stride, end - begin, acc);
  }
  const int64_t runs = plan.folds / f.shape[0] / f.inner();  // of the innermost axis, per index of the outermost
  for (int64_t run = begin * runs; run < end * runs; ++run)
    fold.block(x + offset_of(f, 0, axes - 1, run) * fold.element, kept_stride, results, f.strides[0].back(), f.inner(), acc);
}

void reduce_with(const FoldFunctions& fold, const Reduce& a, const TensorHandle& x, const TensorHandle& y) {
  const Plan plan(a, x, y);
  if (plan.results == 0) return;
  const char* from = static_cast<const char*>(x.storage()->host) + x.layout().offset * fold.element;
  char* to = static_cast<char*>(y.storage()->host) + y.layout().offset * fold.element;
  const int64_t outer_axes = std::max<int64_t>(0, plan.kept.shape.size() - 1);
  const int64_t y_stride = plan.inner_stride(plan.kept, 0), x_stride = plan.inner_stride(plan.kept, 1);

  // Blocks of results, and parts of the folded axis where there are too few blocks: a function of the shape alone.
  const bool columns = x_stride == 1;
  const int64_t wanted = std::clamp<int64_t>(plan.results * plan.folds / kGrain, 1, 64);
  const int64_t block =
      std::min(plan.width, columns ? kResults : std::clamp<int64_t>(kGrain / std::max<int64_t>(1, plan.folds), 1, kResults));
  const int64_t blocks_per_row = (plan.width + block - 1) / block, blocks = plan.results / plan.width * blocks_per_row;
  const int64_t extent = plan.folded.shape.empty() ? 1 : plan.folded.shape[0];
  const int64_t parts = std::clamp<int64_t>(wanted / blocks, 1, std::max<int64_t>(1, extent));

  struct Block {
    int64_t x, y, first, results;
  };
  auto block_at = [&](int64_t index) {
    const int64_t row = index / blocks_per_row, column = index % blocks_per_row * block;
    return Block{offset_of(plan.kept, 1, outer_axes, row) + column * x_stride, offset_of(plan.kept, 0, outer_axes, row) + column * y_stride,
        row * plan.width + column, std::min(block, plan.width - column)};
  };
  const int64_t grain = std::max<int64_t>(1, kGrain * parts / std::max<int64_t>(1, block * plan.folds));
  if (parts == 1) {
    parallel_for(blocks, grain, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const Block b = block_at(i);
        alignas(64) std::byte acc[kResults * 8];
        fold_part(fold, plan, from + b.x * fold.element, b.results, 0, extent, acc);
        fold.finish(acc, b.results, plan.folds, to + b.y * fold.element, y_stride);
      }
    });
    return;
  }
  ScratchBuffer<char> partial(parts * plan.results * fold.partial);
  auto partial_at = [&](int64_t part, int64_t result) { return partial.data() + (part * plan.results + result) * fold.partial; };
  parallel_for(blocks * parts, grain, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const int64_t part = i % parts;
      const Block b = block_at(i / parts);
      fold_part(
          fold, plan, from + b.x * fold.element, b.results, extent * part / parts, extent * (part + 1) / parts, partial_at(part, b.first));
    }
  });
  for (int64_t i = 0; i < blocks; ++i) {
    const Block b = block_at(i);
    for (int64_t part = 1; part < parts; ++part) fold.join(partial_at(0, b.first), partial_at(part, b.first), b.results);
    fold.finish(partial_at(0, b.first), b.results, plan.folds, to + b.y * fold.element, y_stride);
  }
}

template <FoldName name>
void reduce(const Reduce& a, const TensorHandle& x, TensorHandle& y) {
  const DType compute = compute_dtype(x.dtype());
  const FoldFunctions& fold = fold_functions(name, compute);
  if (compute == x.dtype()) return reduce_with(fold, a, x, y);
  const TensorHandle partial = scratch(y, compute);
  reduce_with(fold, a, converted(x, compute), partial);
  convert_into(partial, y);
}

}  // namespace

void register_reduce(KernelTable& kernels) {
  kernels.add_for_all<reduce<kSum>>(op::sum);
  kernels.add_for_all<reduce<kMean>>(op::mean);
  kernels.add_for_all<reduce<kAmax>>(op::amax);
  kernels.add_for_all<reduce<kAmin>>(op::amin);
}

}  // namespace pyburn::cpu
#endif
