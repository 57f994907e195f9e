// Values in and out of tensors, and from device to device.
#pragma once
#include <cstddef>
#include <vector>

#include "pyburn/runtime/device.h"

namespace pyburn {

// Where the elements of x's storage lie in host memory that may be read at once; null where they do not.
void* host_memory(const TensorHandle& x);
TensorHandle from_host(Device& device, const HostArray& from);
// The elements in row-major order; any layout. CaptureError where they are not known: on null, and while capturing.
void to_host(const TensorHandle& from, const HostArray& to);
std::vector<std::byte> host_bytes(const TensorHandle& from);
// A copy on another device, without a history; x itself when it is there.
TensorHandle moved_to(Device& device, const TensorHandle& x);
// The device whose tensors lie in host memory: numpy arrays, files and DLPack enter there without a copy.
Device& host_device();
// x, or a copy of it on the host where its device has no float64.
TensorHandle where_float64_is(const TensorHandle& x);
double read_number(const TensorHandle& x);  // the one element of x; ShapeError when there are others

}  // namespace pyburn
