// Copies: to another dtype, into another tensor, into plain order.
#pragma once
#include "pyburn/runtime/door_ops.h"

namespace pyburn {

namespace op {
extern OpInfo contiguous_copy;
}

// target.copy_(source): broadcasts and converts.
void copy_into(const TensorHandle& target, const TensorHandle& source);

// How elements may lie in memory: with the last axis first, with channels (axis 1) first, or as they do.
enum class MemoryOrder : uint8_t { any, plain, channels_last, channels_last_3d };
bool is_in_order(const Layout& layout, MemoryOrder order);
TensorHandle in_order(const TensorHandle& x, MemoryOrder order);  // x itself where it is, else a copy

// The out= and in-place forms of composites: `target` must have the result's shape, and a dtype that it may be cast to.
void write_result(const TensorHandle& target, const TensorHandle& result);
// What a composite that writes into `target` computes from: `input`, or a copy where it is the target and a gradient may want what it was.
TensorHandle before_write(const TensorHandle& target, const TensorHandle& input);

}  // namespace pyburn
