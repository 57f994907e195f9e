// Injected faults, with which tests show that they would detect the bug. Off in every ordinary process.
#pragma once
#include <cstdint>
#include <string_view>

namespace pyburn {

enum class Fault : uint8_t {
  none,
  missing_version_bump,
  missing_flush,
  missing_overlap_copy,
  unchecked_sizes,        // sizes wrap around instead of raising on overflow
  unchecked_view_bounds,  // as_strided reaches outside its storage
  rounded_up_slices,      // the length of a slice with a huge step wraps around
  negated_exponent,       // matrix_power fails for the smallest integer
  unchecked_casts,        // std::bad_cast instead of a TypeError
  unchecked_positions,    // positions near the largest integer wrap around: narrow, triu, the first dimension of an index
  rounded_bounds,         // randint computes its bounds in floating point and draws 32 bits
};
constexpr std::string_view kFaultNames[] = {"none", "missing_version_bump", "missing_flush", "missing_overlap_copy", "unchecked_sizes",
    "unchecked_view_bounds", "rounded_up_slices", "negated_exponent", "unchecked_casts", "unchecked_positions", "rounded_bounds"};
Fault fault_named(std::string_view);  // ValueError
extern Fault planted_fault;

}  // namespace pyburn
