#include "pyburn/backends/cpu/tiles.h"

#include <hwy/cache_control.h>

#include <algorithm>
#include <cstring>

#include "pyburn/backends/cpu/conversion.h"
#include "pyburn/backends/cpu/dispatch_dtype.h"
#include "pyburn/backends/cpu/streaming.h"
#include "pyburn/support/insertion_sort.h"
#include "pyburn/support/thread_pool.h"

namespace pyburn::cpu {
namespace {

template <class To, class From>
To convert(From v) {
  if constexpr (std::is_same_v<To, bool>) {
    return v != From(0);
  } else if constexpr (std::is_integral_v<To> && !std::is_integral_v<From>) {
    const double d = double(float_of(v));
    if constexpr (std::is_same_v<To, uint64_t>) {
      if (d >= 9.2233720368547758e18 && d < 1.8446744073709552e19) return uint64_t(d);
    }
    // Out of range has no meaning; the processor's answer for int64, without undefined behaviour.
    const int64_t i = d > -9.3e18 && d < 9.2233720368547758e18 ? int64_t(d) : std::numeric_limits<int64_t>::min();
    return To(i);
  } else if constexpr (std::is_same_v<To, Half> || std::is_same_v<To, BFloat16>) {
    return To(float(v));
  } else {
    return To(float_of(v));
  }
}

// The byte of a bool may have any value: a view of another dtype shows what is there.
template <class T>
T element(const T* p) {
  if constexpr (std::is_same_v<T, bool>) return *reinterpret_cast<const uint8_t*>(p) != 0;
  else return *p;
}

template <class To, class From>
void convert_run(const From* from, int64_t from_stride, To* to, int64_t to_stride, int64_t n) {
  if constexpr (std::is_same_v<To, From>) {
    if (from_stride == 1 && to_stride == 1) {
      std::memcpy(to, from, size_t(n) * sizeof(To));
      return;
    }
  }
  if (from_stride == 1 && to_stride == 1)
    for (int64_t i = 0; i < n; ++i) to[i] = convert<To>(element(from + i));
  else if (from_stride == 0 && to_stride == 1) std::fill_n(to, n, convert<To>(element(from)));
  else
    for (int64_t i = 0; i < n; ++i) to[i * to_stride] = convert<To>(element(from + i * from_stride));
}

}  // namespace

// Whether it was done by vectors.
static bool convert_by_vectors(DType from, const void* x, DType to, void* y, int64_t stride, int64_t n) {
  if (stride != 1 || from == to || n < 8) return false;
  const Conversion conversion = find_conversion(from, to);
  return conversion && conversion(x, y, n);
}

void load_tile(DType from, const void* p, int64_t stride, DType to, void* tile, int64_t n) {
  if (convert_by_vectors(from, p, to, tile, stride, n)) return;
  with_compute_type(to, [&]<class C>(C*) {
    with_storage_type(from, [&]<class S>(S*) { convert_run(static_cast<const S*>(p), stride, static_cast<C*>(tile), 1, n); });
  });
}

void store_tile(DType from, const void* tile, DType to, void* p, int64_t stride, int64_t n) {
  if (from == DType::boolean) {  // tiles of bool come from comparisons and go to bool tensors
    convert_run(static_cast<const bool*>(tile), 1, static_cast<bool*>(p), stride, n);
    return;
  }
  if (convert_by_vectors(from, tile, to, p, stride, n)) return;
  with_compute_type(from, [&]<class C>(C*) {
    with_storage_type(to, [&]<class S>(S*) { convert_run(static_cast<const C*>(tile), 1, static_cast<S*>(p), stride, n); });
  });
}

Loop collapse(std::span<const Layout* const> layouts) {
  const Layout& first = *layouts[0];
  // Axes by the stride of the last layout (the output), largest first: memory is walked in order.
  const Layout& order = *layouts.back();
  SmallVector<int, 8> axes;
  for (int i = 0; i < first.rank(); ++i)
    if (first.shape[i] != 1) axes.push_back(i);
  insertion_sort(axes, [&](int a, int b) { return order.strides[a] > order.strides[b]; });
  Loop loop;
  loop.strides.resize(int64_t(layouts.size()));
  for (int axis : axes) {
    const int64_t last = loop.shape.size() - 1;
    bool joins = last >= 0;
    for (size_t k = 0; joins && k < layouts.size(); ++k)
      joins = loop.strides[int64_t(k)][last] == layouts[k]->strides[axis] * first.shape[axis];
    if (joins) loop.shape[last] *= first.shape[axis];
    else loop.shape.push_back(first.shape[axis]);
    for (size_t k = 0; k < layouts.size(); ++k) {
      Dims& s = loop.strides[int64_t(k)];
      if (joins) s[last] = layouts[k]->strides[axis];
      else s.push_back(layouts[k]->strides[axis]);
    }
  }
  return loop;
}

namespace {

const char* bytes_at(const TensorHandle& t) { return static_cast<const char*>(t.storage()->host) + t.layout().offset * size_of(t.dtype()); }

// Runs [begin, end) of the collapsed space, a piece of a row of the innermost axis at a time.
struct StridedRun {
  Tile tile;
  DType compute;
  const void* attrs;
  Inputs in;
  const TensorHandle& out;
  const Loop& loop;

  void operator()(int64_t begin, int64_t end) const {
    const int inputs = int(in.size()), axes = int(loop.shape.size());
    const int64_t inner = loop.inner();
    alignas(64) std::byte buffers[4][kTile * 8];
    const DType out_tile = tile.boolean ? DType::boolean : compute;
    Dims index(axes, 0);
    int64_t rest = begin;
    for (int i = axes - 1; i >= 0; --i) {
      index[i] = rest % loop.shape[i];
      rest /= loop.shape[i];
    }
    const bool joins = rows_join();
    const char* repeated[3] = {};  // what the buffers repeat
    for (int64_t at = begin; at < end;) {
      const int64_t start = axes ? index[axes - 1] : 0;
      const int64_t rows = joins && start == 0 ? std::min({kTile / inner, (end - at) / inner, loop.shape[axes - 2] - index[axes - 2]}) : 1;
      const int64_t n = rows > 1 ? rows * inner : std::min({end - at, inner - start, kTile});
      auto offset = [&](int k) {
        int64_t o = 0;
        for (int i = 0; i < axes; ++i) o += index[i] * loop.strides[k][i];
        return o;
      };
      const void* operands[3];
      for (int k = 0; k < inputs; ++k) {
        const TensorHandle& t = *in[size_t(k)];
        const int64_t stride = axes ? loop.strides[k][axes - 1] : 1;
        const char* p = bytes_at(t) + offset(k) * size_of(t.dtype());
        const DType want = t.dtype() == DType::boolean && tile_reads_bool(k) ? DType::boolean : compute;
        if (stride == 1 && t.dtype() == want && (rows <= 1 || loop.strides[k][axes - 2] != 0)) {
          operands[k] = p;
        } else if (rows > 1) {  // one row, again and again
          const int64_t bytes = inner * size_of(want);
          for (int64_t r = 0; repeated[k] != p && r < kTile / inner; ++r) std::memcpy(buffers[k] + r * bytes, p, size_t(bytes));
          repeated[k] = p;
          operands[k] = buffers[k];
        } else if (repeated[k] = nullptr; want == DType::boolean) {
          for (int64_t i = 0; i < n; ++i) reinterpret_cast<bool*>(buffers[k])[i] = reinterpret_cast<const bool*>(p)[i * stride];
          operands[k] = buffers[k];
        } else {
          load_tile(t.dtype(), p, stride, compute, buffers[k], n);
          operands[k] = buffers[k];
        }
      }
      const int64_t stride = axes ? loop.strides[inputs][axes - 1] : 1;
      char* p = const_cast<char*>(bytes_at(out)) + offset(inputs) * size_of(out.dtype());
      const bool direct = stride == 1 && out.dtype() == out_tile;
      tile.fn(attrs, operands, direct ? static_cast<void*>(p) : buffers[3], n);
      if (!direct) store_tile(out_tile, buffers[3], out.dtype(), p, stride, n);
      at += n;
      if (axes) {
        const int stepped = rows > 1 ? axes - 2 : axes - 1;
        index[stepped] += rows > 1 ? rows : n;
        for (int i = stepped; i > 0 && index[i] == loop.shape[i]; --i) {
          index[i] = 0;
          ++index[i - 1];
        }
      }
    }
  }

  // Rows are short, and those of each operand follow each other or are one and the same, as where something is computed with a number per
  // channel of images whose channels come last.
  bool rows_join() const {
    const int64_t axes = loop.shape.size(), inner = loop.inner();
    if (axes < 2 || 2 * inner > kTile) return false;
    for (size_t k = 0; k <= in.size(); ++k) {
      const Dims& s = loop.strides[int64_t(k)];
      const bool is_out = k == in.size();
      const DType want = is_out ? (tile.boolean ? DType::boolean : compute) : compute;
      if (s[axes - 1] != 1 || (is_out ? out : *in[k]).dtype() != want || (!is_out && tile_reads_bool(int(k)))) return false;
      if (s[axes - 2] != inner && (is_out || s[axes - 2] != 0)) return false;
    }
    return true;
  }

  // The condition of `where` stays bool.
  bool tile_reads_bool(int k) const { return tile.condition && k == 0; }
};

// Whether the result is to be written around the caches.
bool is_streamed(Inputs in, const TensorHandle& out) {
  if (out.numel() * size_of(out.dtype()) < kStreamed) return false;
  return std::none_of(in.begin(), in.end(), [&](const TensorHandle* t) { return t->storage() == out.storage(); });
}

// Calls make(at, n, to) for every part of the plain result `out`; it writes n elements, from `at` on, to `to`.
template <class Make>
void write_plain(const TensorHandle& out, bool streams, Make make) {
  const int64_t size = size_of(out.dtype());
  parallel_for(out.numel(), kGrain, [&](int64_t begin, int64_t end) {
    alignas(64) std::byte buffer[kTile * 8];
    for (int64_t at = begin, step = streams ? kTile : end - begin; at < end; at += step) {
      const int64_t n = std::min(step, end - at);
      char* to = const_cast<char*>(bytes_at(out)) + at * size;
      make(at, n, streams ? static_cast<void*>(buffer) : to);
      if (streams) write_around_caches(buffer, to, n * size);
    }
    if (streams) hwy::FlushStream();
  });
}

// Everything contiguous and in the dtype of the tile.
void run_plain(Tile tile, const void* attrs, Inputs in, const TensorHandle& out) {
  write_plain(out, is_streamed(in, out), [&](int64_t at, int64_t n, void* to) {
    const void* operands[3];
    for (size_t k = 0; k < in.size(); ++k) operands[k] = bytes_at(*in[k]) + at * size_of(in[k]->dtype());
    tile.fn(attrs, operands, to, n);
  });
}

}  // namespace

void convert_plain(const TensorHandle& x, const TensorHandle& y) {
  const DType from = x.dtype(), to = y.dtype(), between = conversion_dtype(from, to);
  const TensorHandle* in[] = {&x};
  write_plain(y, is_streamed(in, y), [&](int64_t at, int64_t n, void* target) {
    const char* p = bytes_at(x) + at * size_of(from);
    if (compute_dtype(to) == to) return load_tile(from, p, 1, to, target, n);
    if (compute_dtype(from) == from) return store_tile(from, p, to, target, 1, n);
    alignas(64) std::byte tile[kTile * 8];
    for (int64_t i = 0; i < n; i += kTile) {
      const int64_t m = std::min(kTile, n - i);
      load_tile(from, p + i * size_of(from), 1, between, tile, m);
      store_tile(between, tile, to, static_cast<char*>(target) + i * size_of(to), 1, m);
    }
  });
}

void run_tile(Tile tile, DType compute, const void* attrs, Inputs in, const TensorHandle& out) {
  const int64_t n = out.numel();
  if (n == 0) return;
  const DType out_tile = tile.boolean ? DType::boolean : compute;
  bool plain = out.dtype() == out_tile && out.layout().is_contiguous();
  for (size_t k = 0; k < in.size() && plain; ++k) {
    const DType want = tile.condition && k == 0 ? DType::boolean : compute;
    plain = in[k]->dtype() == want && in[k]->layout().is_contiguous();
  }
  if (plain) return run_plain(tile, attrs, in, out);
  SmallVector<const Layout*, 4> layouts;
  for (const TensorHandle* t : in) layouts.push_back(&t->layout());
  layouts.push_back(&out.layout());
  const Loop loop = collapse({layouts.data(), size_t(layouts.size())});
  parallel_for(n, kGrain, StridedRun{tile, compute, attrs, in, out, loop});
}

}  // namespace pyburn::cpu
