// Values that move between devices and host memory.
#pragma once
#include "pyburn/runtime/device.h"

namespace pyburn {

TensorHandle upload(const HostArray& from, Device& to);             // a fresh tensor with these values
void download(const TensorHandle& from, const HostArray& to);       // in plain order, whatever the layout of `from`
TensorHandle transfer(const TensorHandle& x, Device& to);           // x itself when it is there already
double read_number(const TensorHandle& x);                          // the one element of x; ShapeError when there are others

}  // namespace pyburn
