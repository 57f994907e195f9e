// Indexing of single elements: gather reads, scatter writes.
#pragma once
#include "pyburn/ir/op_info.h"
#include "pyburn/runtime/run.h"

namespace pyburn {

struct Gather {
  int64_t dim = 0;
  PB_FIELDS(dim)
  static Gather from(const TensorHandle& x, int64_t dim, const TensorHandle&, bool) { return {normalise_dim(dim, x.rank())}; }
  static Gather from(const TensorHandle& x, int64_t dim, const TensorHandle&, const TensorHandle&) {
    return {normalise_dim(dim, x.rank())};
  }
};

// How a written element is combined with the existing one.
enum class Reduction : uint8_t { sum, prod, mean, amax, amin };
Reduction reduction_from(const std::string& name);  // ValueError for an unknown name

struct ScatterReduce {
  int64_t dim = 0;
  Reduction reduce = Reduction::sum;
  bool include_self = true;  // does the existing element count?
  PB_FIELDS(dim, reduce, include_self)
  static ScatterReduce from(
      const TensorHandle& x, int64_t dim, const TensorHandle&, const TensorHandle&, const std::string& reduce, bool include_self) {
    return {normalise_dim(dim, x.rank()), reduction_from(reduce), include_self};
  }
};

namespace op {
extern OpInfo gather, scatter_src, scatter_add, scatter_reduce;
}

}  // namespace pyburn
