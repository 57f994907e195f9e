// Prints tensors in PyTorch's format. Reading the elements requires a download, so this is not in tensor/.
#pragma once
#include <optional>
#include <span>
#include <string>

#include "pyburn/tensor/handle.h"

namespace pyburn {

struct PrintOptions {
  int precision = 4;         // digits after the point
  int64_t threshold = 1000;  // tensors with more elements are summarised
  int64_t edgeitems = 3;     // shown at each end of a summarised dimension
  int linewidth = 80;
  std::optional<bool> sci_mode;  // absent: depends on the values
};
PrintOptions& print_options();  // the process-wide setting

// "tensor([1., 2.], dtype=float64)". `name` is the text before the parenthesis; `notes` are appended, such as
// "requires_grad=True".
std::string to_text(const TensorHandle& t);
std::string to_text(const TensorHandle& t, std::string_view name, std::string_view dtype_prefix, std::span<const std::string> notes);

// The device name of t as a user types it: without the autodiff that every name implies.
std::string typed_name(const Device& device);

}  // namespace pyburn
