// Rows of a table looked up by index.
#pragma once
#include "pyburn/ir/op_info.h"

namespace pyburn {

struct Embedding {
  int64_t padding_idx = -1;         // this row gets no gradient; -1: none
  bool scale_grad_by_freq = false;  // scales gradients by the inverse frequency of the indices
  PB_FIELDS(padding_idx, scale_grad_by_freq)
  static Embedding from(const TensorHandle&, const TensorHandle&, int64_t padding_idx, bool scale_grad_by_freq) {
    return {padding_idx, scale_grad_by_freq};
  }
};

namespace op {
extern OpInfo _embedding;
}

}  // namespace pyburn
