// The parts of attention that the operators of several domains share. Heads are apart: (batch, heads, length, size).
#pragma once
#include <functional>

#include "pyburn/onnx/call.h"

namespace pyburn::onnx {

TensorHandle split_heads(const TensorHandle& x, int64_t heads);  // (batch, length, heads * size)
TensorHandle join_heads(const TensorHandle& x);

struct Attending {
  TensorHandle q, k, v, bias;  // bias: added to scores, or undefined
  double scale = 0;            // 0: one over the root of the size of heads
  double softcap = 0;
  int64_t mode = 0;                // what `seen` receives: scores, after softcap, after the bias, after softmax
  bool causal = false;             // query i sees keys up to i; without a bias
  bool rows_may_be_empty = false;  // rows without any visible key give zeros
  bool scales_both = false;        // queries and keys by the root of scale, as the standard rounds
  std::optional<DType> precision = {};
  std::function<TensorHandle(const TensorHandle&)> score_mod = {}, prob_mod = {};
};
TensorHandle attend(const Attending& a, TensorHandle* seen = nullptr);

// Which of the keys each query sees, as bool (..., queries, keys): query i is at place i + offset. Bounds below 0 are none. Undefined
// where all are seen.
TensorHandle visible_keys(
    int64_t queries, int64_t keys, const TensorHandle& offset, bool causal, int64_t left, int64_t right, Device& device);

// x (batch, heads, length, size) turned by angles of (batch, length, half) cosines and sines; `size`: of the part that is turned, or 0.
TensorHandle rotated(const TensorHandle& x, const TensorHandle& cos, const TensorHandle& sin, bool interleaved, int64_t size);
TensorHandle cache_rows(const TensorHandle& cache, const TensorHandle& positions);  // rows of a table at positions

}  // namespace pyburn::onnx
