// Profiling of sessions: the time of each step.
#pragma once
#include <string>
#include <vector>

#include "pyburn/inference/session.h"

namespace pyburn {

struct StepProfile {
  std::string name;              // "conv2d + relu"
  Shape shape;                   // shape of its first result
  double seconds;                // median over the runs, of all its calls in a run
  int64_t multiply_adds, bytes;  // multiply-adds, and bytes read and written, of all calls; 0 for a node whose work follows from values
  double limit_share;            // the minimum time of the machine, for arithmetic or memory, divided by `seconds`
  std::vector<std::pair<int64_t, int64_t>> calls;  // of the last run: start and end in nanoseconds since its first step. Loops repeat steps
};

struct Profile {
  std::vector<StepProfile> steps;
  double seconds = 0;  // median over whole runs
  int runs = 0;
};

// The peak performance of the machine, measured once by a large product and a copy.
struct MachineLimits {
  double multiply_adds, bytes;  // per second
};
const MachineLimits& machine_limits();

// UnsupportedOp if nothing is prepared: on stacks of decorators. Steps of parts and of nodes between them are listed in the order in which
// they first ran; those of graphs inside cond, while_loop and scan take the place of these operations.
Profile profile(Session& session, std::span<const TensorHandle> inputs, int runs = 20);
std::string to_text(const Profile&, int rows = 30);  // a table, slowest steps first
std::string chrome_trace(const Profile&);            // JSON for chrome://tracing and Perfetto
// The operations of a step, including those of a fused body.
std::string name_of(const Operation&);

// A summary of a prepared session: operations, kernels, memory and its lower bound.
std::string summary(Session& session, std::span<const TensorHandle> inputs);

}  // namespace pyburn
