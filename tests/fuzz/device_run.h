// Runs a program on a pyburn device and compares with the reference.
#pragma once
#include "pyburn/runtime/device.h"
#include "reference.h"

namespace pyburn::fuzz {

// What differs, in words; empty when nothing does.
std::string compare(const Program& program, Device& device);

// The smallest program found by leaving out instructions for which compare() still reports a difference.
Program minimised(Program program, Device& device);

}  // namespace pyburn::fuzz
