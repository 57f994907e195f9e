// Kernels that users write in WGSL, to be called by operations of their own: see docs/guides/own-kernel.md.
#pragma once
#include <string>
#include <variant>
#include <vector>

#include "pyburn/ir/operation.h"

namespace pyburn {

class Backend;

struct WgslKernel {
  std::string name;                          // for errors
  std::vector<std::string> inputs, outputs;  // the names by which the code knows the tensors: x_get(i), y_set(i, v), ...
  std::string body;                          // runs once per `i`, or in workgroups that know `group` and `lane`
  std::string declarations;                  // functions, constants and workgroup variables of the module
  int workgroup_size = 0;                    // 0: the body runs once per i
};

// p.name in the code: a u32 or an f32.
using WgslNumbers = std::vector<std::pair<std::string, std::variant<int64_t, float>>>;

// Runs the body for `count` values of i, or in `count` workgroups, and returns contiguous results with these shapes and dtypes. The inputs
// are on a GPU, as a row's kernel receives them; nothing is recorded for gradients.
Tensors run_wgsl(const WgslKernel&, Inputs in, Metas out, const WgslNumbers&, int64_t count);

// For OpInfo::serves: does this leaf run such kernels?
bool runs_wgsl(const OpInfo&, const Backend& leaf);

}  // namespace pyburn
