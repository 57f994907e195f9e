// How places in planes are counted where elements are gathered by vectors.
#pragma once
#include <cstdint>
#include <type_traits>

namespace pyburn::cpu {

template <class T>
using Place = std::conditional_t<sizeof(T) == 4, int32_t, int64_t>;  // as wide as an element: lanes of a gather

}  // namespace pyburn::cpu
