// Bugs planted on purpose, so that a test can show that it would have caught them. Off in every ordinary process.
#pragma once
#include <cstdint>

namespace pyburn {

enum class Fault : uint8_t { none, missing_version_bump, missing_flush, missing_overlap_copy };
extern Fault planted_fault;

}  // namespace pyburn
