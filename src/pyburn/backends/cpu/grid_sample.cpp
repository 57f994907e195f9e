// Sampling of images at grid positions, and its gradients, in one pass over the grid: the data of a block of positions stays in L1 for all
// channels. Coordinates are computed as in the decomposition, without fused multiply-add (see CMakeLists.txt), so that a position between
// two elements is rounded to the same one.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "pyburn/backends/cpu/grid_sample.cpp"
#include <hwy/foreach_target.h>
// After foreach_target.
#include <hwy/highway.h>

#include <algorithm>
#include <limits>
#include <memory>

#include "pyburn/backends/cpu/cpu_backend.h"
#include "pyburn/backends/cpu/functions_of.h"
#include "pyburn/backends/cpu/grid_block.h"
#include "pyburn/backends/cpu/grid_taps-inl.h"
#include "pyburn/backends/cpu/partial_vector-inl.h"
#include "pyburn/backends/cpu/plain_tensors.h"
#include "pyburn/ops/grid_sample.h"
#include "pyburn/support/thread_pool.h"

#ifndef PYBURN_GRID_SAMPLE_TYPES
#define PYBURN_GRID_SAMPLE_TYPES
namespace pyburn::cpu {

// Of the first n places of a block: what their taps are, and what one channel has to do with them.
template <class T>
struct GridFunctions {
  void (*taps)(const GridImage<T>&, const T* grid, int64_t n, GridBlock<T>&);
  void (*sample)(const GridBlock<T>&, const T* plane, T* y, int64_t n);
  void (*add_input)(const GridBlock<T>&, const T* dy, T* plane, int64_t n);
  void (*add_products)(const GridBlock<T>&, const T* plane, const T* dy, T* sums, int64_t n);  // sums: rows of kGridBlock, one per tap
  void (*grid)(const GridImage<T>&, const GridBlock<T>&, const T* sums, T* dgrid, int64_t n);
};

}  // namespace pyburn::cpu
#endif

HWY_BEFORE_NAMESPACE();
namespace pyburn::cpu::HWY_NAMESPACE {
namespace {

// taps: along each axis.
template <int taps, class T>
void sample_block(const GridBlock<T>& block, const T* plane, T* y, int64_t n) {
  const hn::ScalableTag<T> d;
  const auto lanes = int64_t(hn::Lanes(d));
  if constexpr (taps == 1) {  // nearest: nothing to sum
    const Place<T>* place = block.place(0);
    for (int64_t i = 0; i < n; ++i) y[i] = place[i] < 0 ? T(0) : plane[place[i]];
    return;
  }
  for (int64_t i = 0; i < n; i += lanes) {
    auto sum = hn::Zero(d);
    if (block.neighbours[i])
      for (int64_t row = 0; row < block.count; row += taps)
        for (int k = 0; k < taps; k += 2) {
          const auto [first, second] = load_pairs(d, plane + k, block.place(row) + i);
          sum = hn::MulAdd(first, hn::Load(d, block.weight(row + k) + i), sum);
          sum = hn::MulAdd(second, hn::Load(d, block.weight(row + k + 1) + i), sum);
        }
    else
      for (int64_t k = 0; k < block.count; ++k) sum = add_elements(d, plane, block.place(k) + i, hn::Load(d, block.weight(k) + i), sum);
    store_first(sum, d, y + i, n - i);
  }
}

template <int taps, class T>
void add_block_products(const GridBlock<T>& block, const T* plane, const T* dy, T* sums, int64_t n) {
  const hn::ScalableTag<T> d;
  const auto lanes = int64_t(hn::Lanes(d));
  for (int64_t i = 0; i < n; i += lanes) {
    const auto given = load_first(d, dy + i, n - i);
    auto add = [&](int64_t k, auto product_added_to) HWY_ATTR {
      T* sum = sums + k * kGridBlock + i;
      hn::Store(product_added_to(hn::Load(d, sum)), d, sum);
    };
    if (block.neighbours[i])
      for (int64_t row = 0; row < block.count; row += taps)
        for (int k = 0; k < taps; k += 2) {
          const auto pair = load_pairs(d, plane + k, block.place(row) + i);
          add(row + k, [&](auto sum) HWY_ATTR { return hn::MulAdd(given, pair.first, sum); });
          add(row + k + 1, [&](auto sum) HWY_ATTR { return hn::MulAdd(given, pair.second, sum); });
        }
    else
      for (int64_t k = 0; k < block.count; ++k)
        add(k, [&](auto sum) HWY_ATTR { return add_elements(d, plane, block.place(k) + i, given, sum); });
  }
}

// One place after the other, because several may share an element; those of the four quarters of a vector in turns, which seldom do.
template <int taps, class T>
void add_block_input(const GridBlock<T>& block, const T* dy, T* plane, int64_t n) {
  const hn::ScalableTag<T> d;
  const auto lanes = int64_t(hn::Lanes(d)), quarter = lanes / 4;
  HWY_ALIGN T products[kGridTaps * HWY_LANES(T)];
  for (int64_t i = 0; i < n; i += lanes) {
    const auto given = load_first(d, dy + i, n - i);
    for (int64_t k = 0; k < block.count; ++k) hn::Store(hn::Mul(given, hn::Load(d, block.weight(k) + i)), d, products + k * lanes);
    const int64_t here = std::min(lanes, n - i);
    if (block.neighbours[i]) {
      auto add = [&](int64_t lane) HWY_ATTR {
        for (int64_t row = 0; row < block.count; row += taps) {
          T* to = plane + block.place(row)[i + lane];
          for (int k = 0; k < taps; ++k) to[k] += products[(row + k) * lanes + lane];
        }
      };
      if (here == lanes && quarter > 0)
        for (int64_t lane = 0; lane < quarter; ++lane)
          for (int64_t q = 0; q < 4; ++q) add(lane + q * quarter);
      else
        for (int64_t lane = 0; lane < here; ++lane) add(lane);
    } else {
      for (int64_t k = 0; k < block.count; ++k)
        for (int64_t lane = 0; lane < here; ++lane)
          if (const auto at = block.place(k)[i + lane]; at >= 0) plane[at] += products[k * lanes + lane];
    }
  }
}

template <class T>
GridFunctions<T> functions_for() {
  return {find_taps<T>,
      [](const GridBlock<T>& b, const T* plane, T* y, int64_t n) {
        (b.taps == 1 ? sample_block<1, T> : b.taps == 2 ? sample_block<2, T> : sample_block<4, T>)(b, plane, y, n);
      },
      [](const GridBlock<T>& b, const T* dy, T* plane, int64_t n) {
        (b.taps == 1 ? add_block_input<1, T> : b.taps == 2 ? add_block_input<2, T> : add_block_input<4, T>)(b, dy, plane, n);
      },
      [](const GridBlock<T>& b, const T* plane, const T* dy, T* sums, int64_t n) {
        (b.taps == 2 ? add_block_products<2, T> : add_block_products<4, T>)(b, plane, dy, sums, n);
      },
      grid_of_sums<T>};
}
FunctionsOf<GridFunctions, float, double> make_functions() { return {functions_for<float>(), functions_for<double>()}; }

}  // namespace
}  // namespace pyburn::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace pyburn::cpu {
namespace {

PYBURN_FUNCTIONS(GridFunctions)

// How a grid is divided into blocks of one image each.
template <class T>
struct GridWork {
  GridImage<T> image;
  int64_t images, channels, results, blocks;

  GridWork(const GridSample& a, const Shape& x, const Shape& grid)  // x: of the images that the places are in
      : image(a, x), images(x[0]), channels(x[1]), results(1), blocks(0) {
    for (int64_t i = 1; i <= image.axes; ++i) results *= grid[i];
    blocks = (results + kGridBlock - 1) / kGridBlock;
    require<ValueError>(image.size <= std::numeric_limits<Place<T>>::max(), "images of this size are too large for their dtype: got {}", x);
  }
  int64_t grain(int64_t work) const { return std::max<int64_t>(1, kGrain / std::max<int64_t>(1, work * image.count)); }

  int64_t places(int64_t block) const { return std::min(kGridBlock, results - block * kGridBlock); }
  void find_taps(const T* grid, int64_t of_image, int64_t number, GridBlock<T>& block) const {
    functions<T>().taps(image, grid + (of_image * results + number * kGridBlock) * image.axes, places(number), block);
  }
};

template <class T>
void sample(const GridSample& a, const TensorHandle& x_, const TensorHandle& grid_, TensorHandle& y_) {
  const GridWork<T> w(a, x_.shape(), grid_.shape());
  const PlainInput<T> x(x_), grid(grid_);
  const PlainOutput<T> y(y_);
  // Many planes that are a power of two apart do not stay in the cache beside each other: several blocks of one before the next.
  constexpr int64_t kManyChannels = 8, kMostTogether = 4;
  const int64_t together = w.channels < kManyChannels ? 1 : kMostTogether, parts = (w.blocks + together - 1) / together;
  parallel_for(w.images * parts, w.grain(together * kGridBlock * w.channels), [&](int64_t begin, int64_t end) {
    SmallVector<std::unique_ptr<GridBlock<T>>, kMostTogether> block;
    while (block.size() < together) block.push_back(std::make_unique<GridBlock<T>>(w.image, false));
    for (int64_t i = begin; i < end; ++i) {
      const int64_t image = i / parts, from = i % parts * together, to = std::min(from + together, w.blocks);
      for (int64_t b = from; b < to; ++b) w.find_taps(grid.data(), image, b, *block[b - from]);
      for (int64_t plane = image * w.channels; plane < (image + 1) * w.channels; ++plane)
        for (int64_t b = from; b < to; ++b)
          functions<T>().sample(
              *block[b - from], x.data() + plane * w.image.size, y.data() + plane * w.results + b * kGridBlock, w.places(b));
    }
  });
}

// Channels of an image share the taps, but only one thread may add to a plane: some channels at a time.
template <class T>
void sample_input(const GridSample& a, const TensorHandle& dy_, const TensorHandle& grid_, TensorHandle& dx_) {
  const GridWork<T> w(a, dx_.shape(), grid_.shape());
  const PlainInput<T> dy(dy_), grid(grid_);
  const PlainOutput<T> dx(dx_);
  if (dx.numel() == 0) return;
  constexpr int64_t kMostTogether = 8, kParts = 8;
  const int64_t together = std::clamp<int64_t>(w.images * w.channels / kParts, 1, std::min(kMostTogether, w.channels));
  const int64_t parts = (w.channels + together - 1) / together;
  parallel_for(w.images * parts, w.grain(w.results * together), [&](int64_t begin, int64_t end) {
    GridBlock<T> block(w.image, false);
    for (int64_t i = begin; i < end; ++i) {
      const int64_t image = i / parts, from = image * w.channels + i % parts * together;
      const int64_t to = std::min(from + together, (image + 1) * w.channels);
      std::fill(dx.data() + from * w.image.size, dx.data() + to * w.image.size, T(0));
      for (int64_t b = 0; b < w.blocks; ++b) {
        w.find_taps(grid.data(), image, b, block);
        for (int64_t plane = from; plane < to; ++plane)
          functions<T>().add_input(block, dy.data() + plane * w.results + b * kGridBlock, dx.data() + plane * w.image.size, w.places(b));
      }
    }
  });
}

template <class T>
void sample_grid(const GridSample& a, const TensorHandle& dy_, const TensorHandle& x_, const TensorHandle& grid_, TensorHandle& dgrid_) {
  const GridWork<T> w(a, x_.shape(), grid_.shape());
  const PlainInput<T> dy(dy_), x(x_), grid(grid_);
  const PlainOutput<T> dgrid(dgrid_);
  if (w.image.taps == 1) return (void)std::fill_n(dgrid.data(), dgrid.numel(), T(0));  // nearest: it jumps, and else stays
  parallel_for(w.images * w.blocks, w.grain(kGridBlock * w.channels), [&](int64_t begin, int64_t end) {
    GridBlock<T> block(w.image, true);
    ScratchBuffer<T> sums(w.image.count * kGridBlock);
    for (int64_t i = begin; i < end; ++i) {
      const int64_t image = i / w.blocks, b = i % w.blocks, first = b * kGridBlock, n = w.places(b);
      w.find_taps(grid.data(), image, b, block);
      std::fill_n(sums.data(), w.image.count * kGridBlock, T(0));
      for (int64_t plane = image * w.channels; plane < (image + 1) * w.channels; ++plane)
        functions<T>().add_products(block, x.data() + plane * w.image.size, dy.data() + plane * w.results + first, sums.data(), n);
      functions<T>().grid(w.image, block, sums.data(), dgrid.data() + (image * w.results + first) * w.image.axes, n);
    }
  });
}

}  // namespace

void register_grid_sample(KernelTable& kernels) {
  const auto single = {DType::float32, DType::float16, DType::bfloat16};
  kernels.add<sample<float>>(op::grid_sample, single);
  kernels.add<sample<double>>(op::grid_sample, DType::float64);
  kernels.add<sample_input<float>>(op::grid_sample_input, single);
  kernels.add<sample_input<double>>(op::grid_sample_input, DType::float64);
  kernels.add<sample_grid<float>>(op::grid_sample_grid, single);
  kernels.add<sample_grid<double>>(op::grid_sample_grid, DType::float64);
}

}  // namespace pyburn::cpu
#endif
