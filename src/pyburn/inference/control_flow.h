// Branches and loops as functions. Eager, they call what they are given; while a model is captured, each becomes one node that holds
// graphs.
#pragma once
#include "pyburn/inference/capture.h"

namespace pyburn {

// yes(operands) if pred is not zero, else no(operands). While capturing, both must give results of the same dtypes and ranks.
Tensors cond(const TensorHandle& pred, const CapturedFunction& yes, const CapturedFunction& no, const Tensors& operands);

// carried = body(carried) while condition(carried) is not zero. While capturing, an axis whose extent the body changes becomes free.
// ValueError after max_iterations steps; 0: any number.
Tensors while_loop(const CapturedFunction& condition, const CapturedFunction& body, const Tensors& carried, int64_t max_iterations = 0);

// body(carried, entries) -> (carried, results) for each entry of the sequences along dim. Gives the carried values, then the results of
// all steps stacked along a new first dimension.
Tensors scan(const CapturedFunction& body, const Tensors& carried, const Tensors& sequences, int64_t dim = 0, bool reverse = false);

// The value of an integer tensor of one element that is at least 0. While capturing, where it may not be known: a number that stands for it
// in the attributes of later operations, as the extents of tensors do. Programs must not branch on it.
int64_t as_size(const TensorHandle& size);

}  // namespace pyburn
