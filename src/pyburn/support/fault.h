// Bugs planted on purpose, so that a test can show that it would have caught them. Off in every ordinary process.
#pragma once
#include <cstdint>
#include <string_view>

namespace pyburn {

enum class Fault : uint8_t {
  none,
  missing_version_bump,
  missing_flush,
  missing_overlap_copy,
  unchecked_sizes,        // sizes wrap around where they do not fit into 64 bits
  unchecked_view_bounds,  // as_strided reaches out of its storage
  rounded_up_slices,      // the length of a slice with a huge step wraps around
  negated_exponent,       // of matrix_power, which the smallest integer does not survive
  unchecked_casts,        // std::bad_cast instead of a TypeError
  unchecked_positions,    // positions near the largest integer wrap around: narrow, triu, the first dimension of an index
  rounded_bounds,         // randint computes its bounds in floating point and draws 32 bits
};
constexpr std::string_view kFaultNames[] = {"none", "missing_version_bump", "missing_flush", "missing_overlap_copy", "unchecked_sizes",
    "unchecked_view_bounds", "rounded_up_slices", "negated_exponent", "unchecked_casts", "unchecked_positions", "rounded_bounds"};
Fault fault_named(std::string_view);  // ValueError
extern Fault planted_fault;

}  // namespace pyburn
