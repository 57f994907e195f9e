// Copies: to another dtype, into another tensor, into plain order.
#pragma once
#include "pyburn/runtime/door_ops.h"

namespace pyburn {

namespace op {
extern OpInfo contiguous_copy;
}

// target.copy_(source): broadcasts and converts.
void copy_into(const TensorHandle& target, const TensorHandle& source);

// The out= and in-place forms of composites: `target` must have the result's shape, and a dtype that it may be cast to.
void write_result(const TensorHandle& target, const TensorHandle& result);
// What a composite that writes into `target` computes from: `input`, or a copy where it is the target and a gradient may want what it was.
TensorHandle before_write(const TensorHandle& target, const TensorHandle& input);

}  // namespace pyburn
