// The CPU's kernels, by operation and dtype of the key input.
#pragma once
#include <atomic>
#include <memory>
#include <vector>

#include "pyburn/runtime/backend.h"

namespace pyburn::cpu {

using KernelFn = void (*)(const void* attrs, Inputs in, Outputs out);
using AcceptsFn = bool (*)(const void* attrs, Inputs in);

// Computes n contiguous elements in the compute dtype: the same expression serves the plain and the fused kernel.
using TileFn = void (*)(const void* attrs, const void* const* in, void* out, int64_t n);
struct Tile {
  TileFn fn = nullptr;
  bool boolean = false;    // the result is one bool byte per element
  bool condition = false;  // the first input stays bool
};

// The dtype in which a tile of `t` is computed: float32 for float16, int32 for int8.
inline DType compute_dtype(DType t) { return dtype_info(t).compute; }

// Kernels may be looked up on any thread while a plugin adds others.
class KernelTable {
 public:
  KernelTable() = default;
  KernelTable(const KernelTable&) = delete;
  ~KernelTable() {
    for (size_t i = 0; i < OpTable::kMost; ++i) delete[] rows_[i].load(std::memory_order_relaxed);
  }
  template <auto kernel>
  void add(const OpInfo& op, DType key) {
    slot(op, key).kernel = erase<kernel>;
  }
  template <auto kernel>
  void add(const OpInfo& op, std::initializer_list<DType> keys) {
    for (DType k : keys) add<kernel>(op, k);
  }
  // A kernel that dispatches on dtypes itself.
  template <auto kernel>
  void add_for_all(const OpInfo& op) {
    for (DType k : all_dtypes()) add<kernel>(op, k);
  }
  // The kernels of op handle only the calls for which `accepts` returns true; for the others its decomposition is faster.
  void only_if(const OpInfo& op, AcceptsFn accepts) { conditions_.emplace_back(&op, accepts); }
  // Element-wise: `compute` is a compute dtype; it also serves the dtypes that compute in it.
  void add_tile(const OpInfo& op, DType compute, Tile tile);
  void add_tile(const char* op, DType compute, Tile tile);  // by name: rows without attributes need no header

  KernelFn find(const OpInfo& op, DType key) const {
    const Slot* row = rows_[op.index].load(std::memory_order_acquire);
    return row ? row[size_t(key)].kernel : nullptr;
  }
  Tile tile(const OpInfo& op, DType compute) const {
    const Slot* row = rows_[op.index].load(std::memory_order_acquire);
    return row ? row[size_t(compute)].tile : Tile{};
  }
  AcceptsFn condition(const OpInfo& op) const {  // null if the kernels handle every call
    for (const auto& [row, accepts] : conditions_)
      if (row == &op) return accepts;
    return nullptr;
  }

 private:
  struct Slot {
    KernelFn kernel = nullptr;
    Tile tile;
  };
  Slot& slot(const OpInfo& op, DType key) {
    Slot* row = rows_[op.index].load(std::memory_order_acquire);
    if (!row) {
      auto* fresh = new Slot[all_dtypes().size()];
      if (rows_[op.index].compare_exchange_strong(row, fresh)) row = fresh;
      else delete[] fresh;
    }
    return row[size_t(key)];
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
  // A slot for each dtype, per operation. Created with the first kernel and never moved.
  const std::unique_ptr<std::atomic<Slot*>[]> rows_ { new std::atomic<Slot*>[OpTable::kMost] {} };
  std::vector<std::pair<const OpInfo*, AcceptsFn>> conditions_;  // few; complete before the first call
};

}  // namespace pyburn::cpu
