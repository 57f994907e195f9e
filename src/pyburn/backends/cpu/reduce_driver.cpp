#include "pyburn/backends/cpu/reduce_driver.h"

#include <algorithm>

#include "pyburn/backends/cpu/scratch_buffer.h"
#include "pyburn/backends/cpu/tiles.h"
#include "pyburn/support/checked.h"
#include "pyburn/support/interrupt.h"
#include "pyburn/support/thread_pool.h"

namespace pyburn::cpu {
namespace {

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
void fold_part(
    const FoldFunctions& fold, double parameter, const Plan& plan, const char* x, int64_t results, int64_t begin, int64_t end, void* acc) {
  const Loop& f = plan.folded;
  const int64_t axes = f.shape.size(), kept_stride = plan.inner_stride(plan.kept, 1);
  fold.start(acc, results);
  if (plan.folds == 0) return;
  InterruptTicker ticker;
  auto fold_line = [&](int64_t at, int64_t stride, int64_t n) {  // in pieces: a stretched line has any length
    const int64_t piece = std::max<int64_t>(1, (int64_t(1) << 26) / results);
    for (int64_t i = 0; i < n; i += piece) {
      const int64_t m = std::min(piece, n - i);
      fold.block(x + (at + i * stride) * fold.element, kept_stride, results, stride, m, acc, parameter);
      ticker.work(m * results);
    }
  };
  if (axes <= 1) {
    const int64_t stride = axes ? f.strides[0][0] : 1;
    return fold_line(begin * stride, stride, end - begin);
  }
  const int64_t runs = plan.folds / f.shape[0] / f.inner();  // of the innermost axis, per index of the outermost
  for (int64_t run = begin * runs; run < end * runs; ++run) fold_line(offset_of(f, 0, axes - 1, run), f.strides[0].back(), f.inner());
}

}  // namespace

void reduce_with(const FoldFunctions& fold, const Reduce& a, double parameter, const TensorHandle& x, const TensorHandle& y,
    const TensorHandle* second) {
  const Plan plan(a, x, y);
  if (plan.results == 0) return;
  auto bytes_of = [](const TensorHandle& t, int64_t size) { return static_cast<char*>(t.storage()->host) + t.layout().offset * size; };
  const char* from = bytes_of(x, fold.element);
  char *to = bytes_of(y, fold.result), *to_second = second ? bytes_of(*second, fold.result) : nullptr;
  const int64_t outer_axes = std::max<int64_t>(0, plan.kept.shape.size() - 1);
  const int64_t y_stride = plan.inner_stride(plan.kept, 0), x_stride = plan.inner_stride(plan.kept, 1);

  // Blocks of results, and parts of the reduced dimension if there are too few blocks: depends only on the shape.
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
  auto finish = [&](const Block& b, const void* acc) {
    const int64_t at = b.y * fold.result;
    fold.finish(acc, b.results, plan.folds, parameter, to + at, to_second ? to_second + at : nullptr, y_stride);
  };
  const int64_t grain = std::max<int64_t>(1, kGrain * parts / std::max<int64_t>(1, block * plan.folds));
  if (parts == 1) {
    parallel_for(blocks, grain, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const Block b = block_at(i);
        alignas(64) std::byte acc[kResults * kPartialBytes];
        fold_part(fold, parameter, plan, from + b.x * fold.element, b.results, 0, extent, acc);
        finish(b, acc);
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
      fold_part(fold, parameter, plan, from + b.x * fold.element, b.results, part_begin(extent, part, parts),
          part_begin(extent, part + 1, parts), partial_at(part, b.first));
    }
  });
  for (int64_t i = 0; i < blocks; ++i) {
    const Block b = block_at(i);
    for (int64_t part = 1; part < parts; ++part) fold.join(partial_at(0, b.first), partial_at(part, b.first), b.results);
    finish(b, partial_at(0, b.first));
  }
}

}  // namespace pyburn::cpu
