// Copies elements of any type between strided layouts.
#pragma once
#include "pyburn/tensor/handle.h"

namespace pyburn::cpu {

// A strided layout: the first element and the distance between neighbours along each axis, in elements; may be negative.
struct StridedPlace {
  void* data;
  Dims strides;
};
inline void* first_element(const TensorHandle& t) { return static_cast<char*>(t.storage()->host) + t.layout().offset * size_of(t.dtype()); }
inline StridedPlace place_of(const TensorHandle& t) { return {first_element(t), t.strides()}; }

// to = from, for elements of 1, 2, 4 or 8 bytes. The layouts must not overlap.
void copy_strided(int64_t element_size, const Shape& shape, const StridedPlace& from, const StridedPlace& to);

}  // namespace pyburn::cpu
