// cat, constant_pad_nd, flip, tril, triu, repeat_interleave: whole runs are moved, not elements.
#include "pyburn/ops/rearrange.h"

#include <algorithm>
#include <cstring>

#include "pyburn/backends/cpu/cpu_backend.h"
#include "pyburn/backends/cpu/dispatch_dtype.h"
#include "pyburn/backends/cpu/strided_copy.h"
#include "pyburn/backends/cpu/tiles.h"
#include "pyburn/ops/join.h"
#include "pyburn/ops/pad.h"
#include "pyburn/support/checked.h"
#include "pyburn/support/error.h"
#include "pyburn/support/fault.h"
#include "pyburn/support/thread_pool.h"

namespace pyburn::cpu {
namespace {

void cat(const Join& a, Inputs in, Outputs out) {
  const TensorHandle& y = out[0];
  if (y.numel() == 0) return;  // an empty result may have any other extents
  const int64_t size = size_of(y.dtype());
  StridedPlace to = place_of(y);
  for (const TensorHandle* x : in) {
    if (is_left_out(x->shape())) continue;
    copy_strided(size, x->shape(), place_of(*x), to);
    to.data = static_cast<char*>(to.data) + x->shape()[a.dim] * y.strides()[a.dim] * size;
  }
}

void flip(const Flip& a, const TensorHandle& x, TensorHandle& y) {
  if (x.numel() == 0) return;
  StridedPlace from = place_of(x);
  for (int64_t dim : a.dims) {
    from.data = static_cast<char*>(from.data) + (x.shape()[dim] - 1) * x.strides()[dim] * size_of(x.dtype());
    from.strides[dim] = -x.strides()[dim];
  }
  copy_strided(size_of(x.dtype()), x.shape(), from, place_of(y));
}

// Rows of the last axis: outside all is border, inside both ends are.
void constant_pad_nd(const ConstantPad& a, const TensorHandle& x, TensorHandle& y_) {
  if (y_.numel() == 0) return;
  const int rank = x.rank();
  const TensorHandle y = y_.layout().is_contiguous() ? y_ : scratch(y_, y_.dtype());
  Shape inside = x.shape();  // the size of x after cropping negative borders
  StridedPlace from = place_of(x), to = place_of(y);
  const int64_t size = size_of(x.dtype());
  for (int i = 0; i < rank; ++i) {
    const int64_t before = a.before(i, rank), after = a.after(i, rank);
    inside[i] = std::max<int64_t>(0, inside[i] + std::min<int64_t>(before, 0) + std::min<int64_t>(after, 0));
    from.data = static_cast<char*>(from.data) + std::max<int64_t>(-before, 0) * x.strides()[i] * size;
    to.data = static_cast<char*>(to.data) + std::max<int64_t>(before, 0) * y.strides()[i] * size;
  }
  const int64_t width = rank ? y.shape().back() : 1, left = rank ? std::max<int64_t>(a.before(rank - 1, rank), 0) : 0;
  const int64_t right = left + (rank ? inside[rank - 1] : 1);
  with_storage_type(x.dtype(), [&]<class T>(T*) {
    const T value = from_scalar<T>(a.value);
    T* rows = y.data<T>();
    parallel_for(y.numel() / width, std::max<int64_t>(1, kGrain / width), [&](int64_t begin, int64_t end) {
      for (int64_t r = begin; r < end; ++r) {
        T* row = rows + r * width;
        bool within = true;
        int64_t rest = r;
        for (int i = rank - 2; i >= 0; --i) {
          const int64_t at = rest % y.shape()[i] - std::max<int64_t>(a.before(i, rank), 0);
          within &= at >= 0 && at < inside[i];
          rest /= y.shape()[i];
        }
        if (!within) {
          std::fill_n(row, width, value);
          continue;
        }
        std::fill_n(row, left, value);
        std::fill(row + right, row + width, value);
      }
    });
  });
  copy_strided(size, inside, from, to);
  if (!y.is_same(y_)) convert_into(y, y_);
}

// The inside first; then, axis by axis from the last, both borders from what is there already.
void pad_borders(const BorderPad& a, const TensorHandle& x, const TensorHandle& y) {
  const int rank = x.rank(), padded = int(a.pad.size() / 2);
  const int64_t size = size_of(x.dtype());
  Dims first(rank, 0);  // where x begins in y
  for (int i = 0; i < padded; ++i) first[rank - 1 - i] = a.pad[2 * i];
  auto place = [&](const Dims& at) {
    StridedPlace p = place_of(y);
    for (int i = 0; i < rank; ++i) p.data = static_cast<char*>(p.data) + at[i] * y.strides()[i] * size;
    return p;
  };
  copy_strided(size, x.shape(), place_of(x), place(first));
  Shape done = x.shape();
  Dims begin = first;
  for (int axis = rank - 1; axis >= rank - padded; --axis) {
    const int64_t before = first[axis], n = x.shape()[axis], after = y.shape()[axis] - before - n;
    auto fill = [&](int64_t at, int64_t width, int64_t source, int64_t step) {
      Dims to = begin, from = begin;
      to[axis] = at;
      from[axis] = source;
      Shape shape = done;
      shape[axis] = width;
      StridedPlace read = place(from);
      read.strides[axis] *= step;
      if (width) copy_strided(size, shape, read, place(to));
    };
    if (a.border == Border::reflect) {
      fill(0, before, 2 * before, -1);
      fill(before + n, after, before + n - 2, -1);
    } else if (a.border == Border::replicate) {
      fill(0, before, before, 0);
      fill(before + n, after, before + n - 1, 0);
    } else {
      fill(0, before, n, 1);
      fill(before + n, after, before, 1);
    }
    begin[axis] = 0;
    done[axis] = y.shape()[axis];
  }
}

// Place s of the first axes, with all of the others.
TensorHandle part_of(const TensorHandle& t, int axes, int64_t s) {
  Layout part{{}, {}, t.layout().offset};
  part.shape.append(t.shape().begin() + axes, t.shape().end());
  part.strides.append(t.strides().begin() + axes, t.strides().end());
  for (int i = axes - 1; i >= 0; --i) {
    part.offset += s % t.shape()[i] * t.strides()[i];
    s /= t.shape()[i];
  }
  return alias(t, part);
}
// One part after the other, while it is in the cache.
void border_pad(const BorderPad& a, const TensorHandle& x, TensorHandle& y) {
  if (y.numel() == 0) return;
  const int leading = x.rank() - int(a.pad.size() / 2);
  int64_t parts = 1;
  for (int i = 0; i < leading; ++i) parts *= x.shape()[i];
  parallel_for(parts, std::max<int64_t>(1, kGrain * parts / y.numel()), [&](int64_t begin, int64_t end) {
    for (int64_t s = begin; s < end; ++s) pad_borders(a, part_of(x, leading, s), part_of(y, leading, s));
  });
}

// Row i of a matrix keeps its elements before column i + diagonal + 1 (tril) or from column i + diagonal on (triu).
template <bool lower>
void triangle(const Triangle& a, const TensorHandle& x_, TensorHandle& y_) {
  if (y_.numel() == 0) return;
  const TensorHandle x = plain(x_), y = y_.layout().is_contiguous() ? y_ : scratch(y_, y_.dtype());
  const int64_t size = size_of(x.dtype()), columns = x.shape().back(), rows = x.shape()[x.rank() - 2];
  const int64_t diagonal = planted_fault == Fault::unchecked_positions ? a.diagonal : std::clamp(a.diagonal, -rows - 1, columns);
  const char* from = static_cast<const char*>(first_element(x));
  char* to = static_cast<char*>(first_element(y));
  parallel_for(x.numel() / columns, std::max<int64_t>(1, kGrain / columns), [&](int64_t begin, int64_t end) {
    for (int64_t r = begin; r < end; ++r) {
      const int64_t cut = std::clamp<int64_t>(int64_t(uint64_t(r % rows) + uint64_t(diagonal) + lower), 0, columns), at = r * columns;
      const int64_t kept = lower ? 0 : cut, cleared = lower ? cut : 0, n = lower ? cut : columns - cut;
      if (from != to) std::memcpy(to + (at + kept) * size, from + (at + kept) * size, size_t(n * size));
      std::memset(to + (at + cleared) * size, 0, size_t((columns - n) * size));
    }
  });
  if (!y.is_same(y_)) convert_into(y, y_);
}

void repeat_interleave(const RepeatCounts& a, Inputs in, Outputs out) {
  const TensorHandle counts = converted(*in[0], DType::int64);
  const int64_t* n = counts.data<int64_t>();
  Checked total = 0;
  for (int64_t i = 0; i < counts.numel(); ++i) {
    require<ValueError>(n[i] >= 0, "repeats must not be negative: got {}", n[i]);
    total += n[i];
  }
  require<ValueError>(
      a.output_size < 0 || a.output_size == total, "output_size must be the sum of repeats: got {} for {}", a.output_size, int64_t(total));
  out[0] = make_tensor(in[0]->device(), in[0]->dtype(), contiguous_layout(Shape{total}), cpu_backend().allocate(in[0]->dtype(), total));
  with_storage_type(in[0]->dtype(), [&]<class T>(T*) {
    T* p = out[0].data<T>();
    for (int64_t i = 0; i < counts.numel(); ++i) p = std::fill_n(p, n[i], T(i));
  });
}

}  // namespace

void register_rearrange(KernelTable& kernels) {
  kernels.add_for_all<cat>(op::cat);
  kernels.add_for_all<flip>(op::flip);
  kernels.add_for_all<constant_pad_nd>(op::constant_pad_nd);
  kernels.add_for_all<border_pad>(op::_border_pad);
  kernels.add_for_all<triangle<true>>(op::tril);
  kernels.add_for_all<triangle<false>>(op::triu);
  kernels.add<repeat_interleave>(op::repeat_interleave_indices, {DType::int32, DType::int64});
}

}  // namespace pyburn::cpu
