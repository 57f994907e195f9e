#include "pyburn/backends/cpu/index_rows.h"

#include <algorithm>
#include <cstring>

#include "pyburn/backends/cpu/dispatch_dtype.h"
#include "pyburn/backends/cpu/strided_copy.h"
#include "pyburn/backends/cpu/tiles.h"
#include "pyburn/runtime/door_ops.h"
#include "pyburn/support/checked.h"
#include "pyburn/support/error.h"
#include "pyburn/support/thread_pool.h"

namespace pyburn::cpu {
namespace {

bool is_plain_from(const Layout& x, int axis) {
  int64_t expected = 1;
  for (int i = x.rank() - 1; i >= axis; --i) {
    if (x.shape[i] != 1 && x.strides[i] != expected) return false;
    expected *= x.shape[i];
  }
  return true;
}

TensorHandle stretched(const TensorHandle& x, const Shape& shape) {
  const Expand wide{shape};
  return x.shape() == shape ? x : alias(x, op::expand.view({&op::expand, &wide}, x.layout()));
}

}  // namespace

IndexedRows::IndexedRows(const TensorHandle& x, int axis, int count) : x_(x), axis_(axis) {
  if (!is_plain_from(x.layout(), axis + count)) x_ = plain(x);
  for (int i = 0; i < x.rank(); ++i) {
    if (i < axis) outer_ *= x.shape()[i];
    else if (i >= axis + count) row_ *= x.shape()[i];
    else if (x.shape()[i] > 0) span_ += (x.shape()[i] - 1) * x_.strides()[i];
  }
}

void IndexedRows::find_places(Inputs indices, const Shape& shape, bool negative_counts_from_end) {
  count_ = shape.numel();
  offsets_.emplace(count_);
  int64_t* offsets = offsets_->data();
  for (int k = 0; k < int(indices.size()); ++k) {
    const TensorHandle index = stretched(*indices[size_t(k)], shape);
    const bool direct = index.dtype() == DType::int64 && index.layout().is_contiguous();
    const TensorHandle wide = direct ? index : converted(index, DType::int64);
    const int64_t* values = wide.data<int64_t>();
    const bool has_axis = x_.rank() > 0;  // no axes count as one of extent 1
    const int64_t n = has_axis ? x_.shape()[axis_ + k] : 1, stride = has_axis ? x_.strides()[axis_ + k] : 0;
    parallel_for(count_, kGrain, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        int64_t v = values[i];
        if (v < 0 && negative_counts_from_end) v += n;
        if (v < 0 || v >= n) [[unlikely]] {
          require<IndexError>(negative_counts_from_end, "index out of range in self: got {} for {} rows", v, n);
          fail<IndexError>("index {} is out of bounds for dimension {} with size {}", values[i], axis_ + k, n);
        }
        offsets[i] = (k ? offsets[i] : 0) + v * stride;
      }
    });
  }
}

int64_t IndexedRows::offset_of_outer(int64_t o) const {
  int64_t offset = 0;
  for (int i = axis_ - 1; i >= 0; --i) {
    offset += o % x_.shape()[i] * x_.strides()[i];
    o /= x_.shape()[i];
  }
  return offset;
}

void IndexedRows::read_into(const TensorHandle& y) {
  const int64_t size = size_of(x_.dtype()), bytes = row_ * size;
  if (bytes == 0) return;
  const char* from = static_cast<const char*>(first_element(x_));
  char* to = static_cast<char*>(first_element(y));
  const int64_t* offsets = offsets_->data();
  auto copy_all = [&](auto copy) {
    parallel_for(outer_ * count_, std::max<int64_t>(1, 4 * kGrain / bytes), [&](int64_t begin, int64_t end) {
      for (int64_t r = begin; r < end;) {
        const char* base = from + offset_of_outer(r / count_) * size;
        for (int64_t p = r % count_; p < count_ && r < end; ++p, ++r) copy(to + r * bytes, base + offsets[p] * size);
      }
    });
  };
  auto fixed = [&]<class T>(T*) { copy_all([](char* y, const char* x) { std::memcpy(y, x, sizeof(T)); }); };
  switch (bytes) {
    case 1:
      return fixed(static_cast<uint8_t*>(nullptr));
    case 2:
      return fixed(static_cast<uint16_t*>(nullptr));
    case 4:
      return fixed(static_cast<uint32_t*>(nullptr));
    case 8:
      return fixed(static_cast<uint64_t*>(nullptr));
    default:
      return copy_all([bytes](char* y, const char* x) { std::memcpy(y, x, size_t(bytes)); });
  }
}

// Threads share the outer dimensions or, if these are small, the positions: each thread scans all and handles those in its part of memory.
// So the order at one position never depends on the number of threads.
template <class Row>
void IndexedRows::visit_places(Row row) {
  if (row_ == 0 || count_ == 0 || outer_ == 0) return;
  const int64_t* offsets = offsets_->data();
  const bool worth_sharing = outer_ < num_threads() && count_ * row_ >= kGrain;
  const int64_t parts = worth_sharing ? num_threads() : 1;
  parallel_for(outer_ * parts, parts > 1 ? 1 : std::max<int64_t>(1, kGrain / (count_ * row_)), [&](int64_t begin, int64_t end) {
    for (int64_t unit = begin; unit < end; ++unit) {
      const int64_t o = unit / parts, part = unit % parts, base = offset_of_outer(o);
      const int64_t first = part_begin(span_, part, parts), last = part_begin(span_, part + 1, parts);
      for (int64_t p = 0; p < count_; ++p)
        if (offsets[p] >= first && offsets[p] < last) row(base + offsets[p], o * count_ + p);
    }
  });
}

void IndexedRows::write_from(const TensorHandle& values) {
  const int64_t size = size_of(x_.dtype()), bytes = row_ * size;
  char* to = static_cast<char*>(first_element(x_));
  const char* from = static_cast<const char*>(first_element(values));
  visit_places([&](int64_t offset, int64_t r) { std::memcpy(to + offset * size, from + r * bytes, size_t(bytes)); });
}

void IndexedRows::add_from(const TensorHandle& values, Scalar alpha) {
  with_storage_type(x_.dtype(), [&]<class T>(T*) {
    if constexpr (std::is_arithmetic_v<T>) {
      T* to = x_.data<T>();
      const T* from = values.data<T>();
      const T factor = alpha.to<T>();
      const bool scaled = !(factor == T(1));
      visit_places([&](int64_t offset, int64_t r) {
        T* y = to + offset;
        const T* x = from + r * row_;
        if constexpr (std::is_same_v<T, bool>) {
          for (int64_t i = 0; i < row_; ++i) y[i] = y[i] || (x[i] && factor);
        } else if constexpr (std::is_integral_v<T>) {  // wraps around
          for (int64_t i = 0; i < row_; ++i) y[i] = T(uint64_t(y[i]) + uint64_t(factor) * uint64_t(x[i]));
        } else if (scaled) {
          for (int64_t i = 0; i < row_; ++i) y[i] = T(y[i] + factor * x[i]);
        } else {
          for (int64_t i = 0; i < row_; ++i) y[i] = T(y[i] + x[i]);
        }
      });
    }
  });
}

}  // namespace pyburn::cpu
