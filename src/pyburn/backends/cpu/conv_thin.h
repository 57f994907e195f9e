// What a kernel of one tap sees of planes when it moves in steps, and back.
#pragma once
#include "pyburn/backends/cpu/conv_geometry.h"

namespace pyburn::cpu {

// thinned (planes, pixels) = the elements of `planes` planes that the tap meets. For kernels of one tap without padding.
template <class T>
void thin_planes(const ConvGeometry& g, const T* source, int64_t planes, T* thinned);
// The planes that hold these elements, and zero elsewhere.
template <class T>
void spread_planes(const ConvGeometry& g, const T* thinned, int64_t planes, T* result);

}  // namespace pyburn::cpu
