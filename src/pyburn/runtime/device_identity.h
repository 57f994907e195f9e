// What makes a device what it is: the backends of its stack, each with its options and its address.
#pragma once
#include <optional>

#include "pyburn/runtime/device.h"

namespace pyburn {

// A backend with all that is inside of it, its options and its address: "mine:1", "fusion(mine:1)". What was made by name reads back as the
// same object; a backend that was put into a stack by hand has its own name() alone.
std::string stack_name(const Backend& backend);
// What device() takes to give this device again: as stack_name(), with "inner(...)" where autodiff is not outermost, and "meta" as in
// PyTorch.
std::string typed_name_of(const Device& device);
size_t known_backends();                // that names have led to
bool has_values(const Device& device);  // false for meta

// The kind and the number of the leaf, as in PyTorch: "mine" and 1 for "mine:1", "cpu" and nothing for "ndarray".
std::string type_of(const Device& device);
std::optional<int64_t> index_of(const Device& device);

// Whether the text begins with the name of a backend, or with that of one of PyTorch's: if so, a mistake in it is worth an error.
bool begins_as_device(std::string_view text);
// For factories of backends that take no options: a number is as good as none ("cpu:1" is the CPU in PyTorch too), all else DeviceError.
bool is_plain(std::string_view name, std::string_view options);  // false: a number was given
void require_no_options(std::string_view name, std::string_view options);
void reset_default_device();  // to PYBURN_DEVICE, else the best one

}  // namespace pyburn
