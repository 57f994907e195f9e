// Loads strided memory into contiguous tiles and back, with conversion; and the loop that runs a tile function over tensors.
#pragma once
#include "pyburn/backends/cpu/kernel_table.h"
#include "pyburn/tensor/half.h"

namespace pyburn::cpu {

inline constexpr int64_t kTile = 512;     // elements: 2 KiB of float per operand, several fit in L1
inline constexpr int64_t kGrain = 32768;  // elements per claimed chunk

// Converts n elements of dtype `from`, `stride` apart, to the compute dtype `to`, and back.
void load_tile(DType from, const void* p, int64_t stride, DType to, void* tile, int64_t n);
void store_tile(DType from, const void* tile, DType to, void* p, int64_t stride, int64_t n);

// The intermediate dtype of a cast: load_tile() to it, then store_tile() from it.
DType conversion_dtype(DType from, DType to);

// The common index space of several layouts of one shape, with as few dimensions as possible. strides[k] belongs to layout k.
struct Loop {
  Dims shape;
  SmallVector<Dims, 4> strides;
  int64_t inner() const { return shape.empty() ? 1 : shape.back(); }
};
Loop collapse(std::span<const Layout* const> layouts);

// out = tile(in...). Inputs and output have the same shape; dtypes are converted from and to `compute`.
void run_tile(Tile tile, DType compute, const void* attrs, Inputs in, const TensorHandle& out);

// y = x, element by element, with conversion; any layouts.
void convert_into(const TensorHandle& x, const TensorHandle& y);
// A contiguous tensor of x's shape in another dtype: uninitialised, or with x's values.
TensorHandle scratch(const TensorHandle& like, DType dtype);
TensorHandle scratch(Device& device, const Shape& shape, DType dtype);
TensorHandle converted(const TensorHandle& x, DType dtype);
inline TensorHandle plain(const TensorHandle& x) { return x.layout().is_contiguous() ? x : converted(x, x.dtype()); }

}  // namespace pyburn::cpu
