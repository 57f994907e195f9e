// Index types for vector gathers from planes.
#pragma once
#include <cstdint>
#include <type_traits>

namespace pyburn::cpu {

template <class T>
using Place = std::conditional_t<sizeof(T) == 4, int32_t, int64_t>;  // as wide as an element, as gathers require

}  // namespace pyburn::cpu
