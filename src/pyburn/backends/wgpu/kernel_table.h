// The kernels of the GPU, by operation.
#pragma once
#include <unordered_map>

#include "pyburn/backends/wgpu/shader.h"

namespace pyburn::wgpu {

struct Call {
  Gpu& gpu;
  OpRef op;
  Inputs in;
  Outputs out;
  template <class A>
  const A& attrs() const {
    return op.as<A>();
  }
};

using KernelFn = void (*)(const Call&);
// Without storages: may this call run on the GPU? Null: all may.
using AcceptsFn = bool (*)(OpRef op, Inputs in, Outputs out);

// Filled while the backend starts, before other threads see it.
class KernelTable {
 public:
  struct Entry {
    KernelFn kernel = nullptr;
    AcceptsFn accepts = nullptr;
    DTypeSet dtypes = DTypeSet::all();  // of the key input
    bool on_host = false;
  };
  void add(const OpInfo& op, KernelFn kernel, AcceptsFn accepts = nullptr, DTypeSet dtypes = DTypeSet::all()) {
    entries_[&op] = {kernel, accepts, dtypes, false};
  }
  void add(const char* op, KernelFn kernel, AcceptsFn accepts = nullptr, DTypeSet dtypes = DTypeSet::all());
  // Operations whose decomposition would not see errors that the CPU's kernel finds in values.
  void add_on_host(const OpInfo& op) { entries_[&op] = {.on_host = true}; }
  const Entry* find(const OpInfo& op) const {
    const auto it = entries_.find(&op);
    return it == entries_.end() ? nullptr : &it->second;
  }

 private:
  std::unordered_map<const OpInfo*, Entry> entries_;
};

inline constexpr DTypeSet dtype_set(std::initializer_list<DType> list) {
  uint64_t bits = 0;
  for (DType t : list) bits |= uint64_t(1) << int(t);
  return DTypeSet(bits);
}
inline constexpr DTypeSet kFloats = dtype_set({DType::float32, DType::float16, DType::bfloat16});

// Tensors between the steps of a kernel.
TensorHandle scratch(const Call&, DType, const Shape&);
// x with other dimensions, on the same storage.
TensorHandle relayout(const TensorHandle& x, const Shape& shape, const Dims& strides, int64_t offset);
// y = x element by element, converted: any dtypes and layouts of equal shape.
void copy(Gpu&, const TensorHandle& x, const TensorHandle& y);

void fill(Gpu&, const TensorHandle& y, const Scalar& value);

// Kernel families; one file each.
void register_copy(KernelTable&);
void register_fill(KernelTable&);
void register_elementwise(KernelTable&);  // every row of elementwise.h
void register_indexing(KernelTable&);
void register_movement(KernelTable&);
void register_random(KernelTable&);
void register_reduce(KernelTable&);
void register_extremum(KernelTable&);
void register_softmax(KernelTable&);
void register_scan(KernelTable&);
void register_sort(KernelTable&);
void register_search(KernelTable&);
void register_fused(KernelTable&);
void register_optimise(KernelTable&);
void register_matmul(KernelTable&);
void register_conv(KernelTable&);
void register_pool(KernelTable&);
void register_norm(KernelTable&);
void register_cross_entropy(KernelTable&);
void register_attention(KernelTable&);
void register_rnn_steps(KernelTable&);
void register_resampling(KernelTable&);
void register_unfold(KernelTable&);
void register_segment(KernelTable&);
void register_regions(KernelTable&);

}  // namespace pyburn::wgpu
