// Copies: to another dtype, into another tensor, to contiguous order.
#pragma once
#include "pyburn/runtime/door_ops.h"

namespace pyburn {

namespace op {
extern OpInfo contiguous_copy;
}

// target.copy_(source): broadcasts and converts.
void copy_into(const TensorHandle& target, const TensorHandle& source);

// Memory formats: channels last, contiguous, or preserved.
enum class MemoryOrder : uint8_t { any, plain, channels_last, channels_last_3d };
bool is_in_order(const Layout& layout, MemoryOrder order);
TensorHandle in_order(const TensorHandle& x, MemoryOrder order);  // x itself if it already is, else a copy

// The out= and in-place forms of composites: `target` must have the result's shape, and a dtype that the result can be cast to.
void write_result(const TensorHandle& target, const TensorHandle& result);
// The input of a composite that writes to `target`: `input`, or a copy if it is the target and a gradient may need its old value.
TensorHandle before_write(const TensorHandle& target, const TensorHandle& input);

}  // namespace pyburn
