// Transfers of tensor values to and from the host, and between devices.
#pragma once
#include <cstddef>
#include <vector>

#include "pyburn/runtime/device.h"

namespace pyburn {

// The address of x's storage in readable host memory; null if it is elsewhere.
void* host_memory(const TensorHandle& x);
TensorHandle from_host(Device& device, const HostArray& from);
// The elements in row-major order; any layout. CaptureError if they are unknown: on null, and while capturing.
void to_host(const TensorHandle& from, const HostArray& to);
std::vector<std::byte> host_bytes(const TensorHandle& from);
// A copy on another device, without a history; x itself if it is already there.
TensorHandle moved_to(Device& device, const TensorHandle& x);
// The device whose tensors are in host memory: numpy arrays, files and DLPack enter there without a copy.
Device& host_device();
// x, or a copy on the host if its device does not support float64.
TensorHandle where_float64_is(const TensorHandle& x);
double read_number(const TensorHandle& x);  // the single element of x; ShapeError if there are several

}  // namespace pyburn
