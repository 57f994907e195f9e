// Rearranges, repeats or removes elements of a tensor.
#pragma once
#include "pyburn/ir/op_info.h"
#include "pyburn/runtime/run.h"

namespace pyburn {

struct Flip {
  Dims dims;  // increasing
  PB_FIELDS(dims)
  static Flip from(const TensorHandle& x, const Dims& dims) { return {dims.empty() ? Dims{} : normalise_dims(dims, x.rank())}; }
};

// tril and triu: elements on the other side of the diagonal become 0.
struct Triangle {
  int64_t diagonal = 0;
  PB_FIELDS(diagonal)
  static Triangle from(const TensorHandle&, int64_t diagonal) { return {diagonal}; }
};

struct RepeatCounts {
  int64_t output_size = -1;  // known in advance; -1: unknown
  PB_FIELDS(output_size)
  static RepeatCounts from(const TensorHandle& repeats, std::optional<int64_t> output_size);
};

namespace op {
extern OpInfo flip, tril, triu, repeat_interleave_indices;
}

}  // namespace pyburn
