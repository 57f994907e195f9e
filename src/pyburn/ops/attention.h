// Attention: softmax(scale * q @ k.T + mask) @ v, without the matrix of scores.
#pragma once
#include "pyburn/ir/op_info.h"
#include "pyburn/runtime/run.h"

namespace pyburn {

// query is (N, H, L, E), key (N, G, S, E), value (N, G, S, V), where G divides H: H / G query heads share a key and value head. mask is (N,
// H, L, S): bool, true where a query attends to a key, or numbers that are added to the scores.
struct Attention {
  bool is_causal = false;  // query i attends to keys up to i
  double scale = 1;
  PB_FIELDS(is_causal, scale)
  using T = TensorHandle;
  static Attention from(const T&, const T&, const T&, const T& mask, bool is_causal, double scale) {
    if (mask.defined()) require(mask.rank() == 4, "expected a mask of 4 dimensions: got {}", mask.shape());
    return {is_causal, scale};
  }
  static Attention from(const T&, const T& q, const T& k, const T& v, const T& mask, const T&, const T&, bool is_causal, double scale) {
    return from(q, k, v, mask, is_causal, scale);
  }
};

namespace op {
extern OpInfo attention, attention_grad;
}

}  // namespace pyburn
