// The CPU's kernels, by operation and dtype of the key input.
#pragma once
#include <vector>

#include "pyburn/runtime/backend.h"

namespace pyburn::cpu {

using KernelFn = void (*)(const void* attrs, Inputs in, Outputs out);

// Computes n contiguous elements in the compute dtype: the one expression behind the plain and the fused kernel.
using TileFn = void (*)(const void* attrs, const void* const* in, void* out, int64_t n);
struct Tile {
  TileFn fn = nullptr;
  bool boolean = false;    // the result is one byte of bool per element
  bool condition = false;  // the first input stays bool
};

// The dtype in which a tile of `t` is computed: float16 as float32, int8 as int32.
DType compute_dtype(DType t);

class KernelTable {
 public:
  template <auto kernel>
  void add(const OpInfo& op, DType key) {
    slot(op, key).kernel = erase<kernel>;
  }
  template <auto kernel>
  void add(const OpInfo& op, std::initializer_list<DType> keys) {
    for (DType k : keys) add<kernel>(op, k);
  }
  // A kernel that looks at the dtypes itself.
  template <auto kernel>
  void add_for_all(const OpInfo& op) {
    for (int k = 0; k < kDTypes; ++k) add<kernel>(op, DType(k));
  }
  // Elementwise: `compute` is a compute dtype; it also serves the dtypes that compute in it.
  void add_tile(const OpInfo& op, DType compute, Tile tile);
  void add_tile(const char* op, DType compute, Tile tile);  // by name: rows without attributes need no header

  KernelFn find(const OpInfo& op, DType key) const { return op.index < rows_.size() ? rows_[op.index].slots[int(key)].kernel : nullptr; }
  Tile tile(const OpInfo& op, DType compute) const { return op.index < rows_.size() ? rows_[op.index].slots[int(compute)].tile : Tile{}; }

 private:
  struct Slot {
    KernelFn kernel = nullptr;
    Tile tile;
  };
  struct Row {
    Slot slots[kDTypes];
  };
  Slot& slot(const OpInfo& op, DType key) {
    if (op.index >= rows_.size()) rows_.resize(op.index + 1u);
    return rows_[op.index].slots[int(key)];
  }

  // Kernels are written with their attribute struct and one parameter per tensor, or with (attrs, Inputs, Outputs).
  template <auto kernel>
  static void erase(const void* attrs, Inputs in, Outputs out) {
    call(kernel, kernel, attrs, in, out);
  }
  template <class A, class... P>
  static void call(void (*)(const A&, P...), auto kernel, const void* attrs, Inputs in, Outputs out) {
    const A& a = *static_cast<const A*>(attrs);
    if constexpr (std::is_invocable_v<decltype(kernel), const A&, Inputs, Outputs>) kernel(a, in, out);
    else if constexpr (sizeof...(P) == 1) kernel(a, out[0]);
    else if constexpr (sizeof...(P) == 2) kernel(a, *in[0], out[0]);
    else if constexpr (sizeof...(P) == 3) kernel(a, *in[0], *in[1], out[0]);
    else kernel(a, *in[0], *in[1], *in[2], out[0]);
  }
  std::vector<Row> rows_;
};

}  // namespace pyburn::cpu
