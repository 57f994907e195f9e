// Gradient clipping and clearing, and parameters as one vector.
#pragma once
#include "pyburn/nn/module.h"

namespace pyburn::nn {

// The norm of all tensors as one vector; 0 for no tensors. Norms on several devices are combined on the first one.
TensorHandle get_total_norm(const std::vector<TensorHandle>& tensors, double norm_type = 2, bool error_if_nonfinite = false);
// Scales the gradients so that their norm, which is `total_norm`, is at most `max_norm`.
void clip_grads_with_norm_(const std::vector<TensorHandle>& parameters, double max_norm, const TensorHandle& total_norm);
// Computes the norm and clips; returns the norm before clipping.
TensorHandle clip_grad_norm_(
    const std::vector<TensorHandle>& parameters, double max_norm, double norm_type = 2, bool error_if_nonfinite = false);
void clip_grad_value_(const std::vector<TensorHandle>& parameters, double clip_value);

// Sets gradients to none, or to zeros.
void zero_gradients(const std::vector<TensorHandle>& parameters, bool set_to_none);

TensorHandle parameters_to_vector(const std::vector<TensorHandle>& parameters);
void vector_to_parameters(const TensorHandle& vector, const std::vector<TensorHandle>& parameters);

}  // namespace pyburn::nn
