// The identity of a device: the backends of its stack, each with its options and address.
#pragma once
#include <optional>

#include "pyburn/runtime/device.h"

namespace pyburn {

// A backend with its inner backends, options and address: "mine:1", "fusion(mine:1)". For backends created by name, device() returns the
// same object; a backend object added to a stack has only its own name().
std::string stack_name(const Backend& backend);
// The name that device() maps to this device: as stack_name(), with "inner(...)" if autodiff is not outermost, and "meta" as in
// PyTorch.
std::string typed_name_of(const Device& device);
size_t known_backends();                // the names that were used for it
bool has_values(const Device& device);  // false for meta

// The type and index of the leaf, as in PyTorch: "mine" and 1 for "mine:1", "cpu" and none for "ndarray".
std::string type_of(const Device& device);
std::optional<int64_t> index_of(const Device& device);

// Whether the text begins with the name of a backend of pyburn or PyTorch: then a mistake in the rest is an error.
bool begins_as_device(std::string_view text);
// For factories of backends without options: an index is ignored ("cpu:1" is the CPU in PyTorch, too), anything else is a DeviceError.
bool is_plain(std::string_view name, std::string_view options);  // false: an index was given
void require_no_options(std::string_view name, std::string_view options);
// The name of the backend that "best" stands for; the CPU unless set. Called when the default device is first needed.
void set_best_backend(const char* (*name)());
void reset_default_device();  // PYBURN_DEVICE, else the best one

}  // namespace pyburn
