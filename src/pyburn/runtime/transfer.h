// Values in and out of tensors, and from device to device.
#pragma once
#include <cstddef>
#include <vector>

#include "pyburn/runtime/device.h"

namespace pyburn {

TensorHandle from_host(Device& device, const HostArray& from);
// The elements in row-major order; any layout. CaptureError where they are not known: on null, and while capturing.
void to_host(const TensorHandle& from, const HostArray& to);
std::vector<std::byte> host_bytes(const TensorHandle& from);
// A copy on another device, without a history; x itself when it is there.
TensorHandle moved_to(Device& device, const TensorHandle& x);
double read_number(const TensorHandle& x);  // the one element of x; ShapeError when there are others

}  // namespace pyburn
