// Tensors as text, in PyTorch's form. Reading the elements needs a download, so this is not in tensor/.
#pragma once
#include <optional>
#include <span>
#include <string>

#include "pyburn/tensor/handle.h"

namespace pyburn {

struct PrintOptions {
  int precision = 4;         // digits after the point
  int64_t threshold = 1000;  // more elements than this are summarised
  int64_t edgeitems = 3;     // shown at each end of a summarised axis
  int linewidth = 80;
  std::optional<bool> sci_mode;  // absent: chosen from the values
};
PrintOptions& print_options();  // of the process

// "tensor([1., 2.], dtype=float64)". `name` stands before the parenthesis; `notes` are further remarks, such as
// "requires_grad=True".
std::string to_text(const TensorHandle& t);
std::string to_text(const TensorHandle& t, std::string_view name, std::string_view dtype_prefix, std::span<const std::string> notes);

// The name of t's device as a user types it: without the autodiff that every name implies.
std::string typed_name(const Device& device);

}  // namespace pyburn
