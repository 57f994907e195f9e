// Where the time of a session goes.
#pragma once
#include <string>
#include <vector>

#include "pyburn/inference/session.h"

namespace pyburn {

struct StepProfile {
  std::string name;              // "conv2d + relu"
  Shape shape;                   // of its first result
  double seconds;                // median of the runs
  int64_t multiply_adds, bytes;  // what it computes, and what it reads and writes
  double limit_share;            // of the time that the machine would need at least, for arithmetic or for memory, in `seconds`
  int64_t start, end;            // nanoseconds since the first step of the last run
};

struct Profile {
  std::vector<StepProfile> steps;
  double seconds = 0;  // median of whole runs
  int runs = 0;
};

// What the machine can do at best: measured once, by a large product and a copy.
struct MachineLimits {
  double multiply_adds, bytes;  // per second
};
const MachineLimits& machine_limits();

// UnsupportedOp where the session has no prepared program: on stacks of decorators, or where sizes depend on values.
Profile profile(Session& session, std::span<const TensorHandle> inputs, int runs = 20);
std::string to_text(const Profile&, int rows = 30);  // a table, the slowest first
std::string chrome_trace(const Profile&);            // JSON for chrome://tracing and Perfetto
// The operations of a step: those of its body where it is fused.
std::string name_of(const Operation&);

// What a session prepared: operations, kernels, memory next to the least that would do.
std::string summary(Session& session, std::span<const TensorHandle> inputs);

}  // namespace pyburn
