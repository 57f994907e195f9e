// fused: runs a program over tiles. What it computes on the way never leaves the first-level cache.
#include "pyburn/ops/fused.h"

#include "pyburn/backends/cpu/cpu_backend.h"
#include "pyburn/backends/cpu/fused/product.h"
#include "pyburn/backends/cpu/fused/run.h"
#include "pyburn/runtime/run.h"

namespace pyburn::cpu {
namespace {

bool run_elementwise(const Fused& a, Inputs in, Outputs out) {
  if (a.body->nodes.empty()) return false;
  Section all{*a.body, 0, {}, {}};
  for (ValueId v : a.body->inputs) all.inputs.push_back(v);
  for (ValueId v : a.body->outputs) all.outputs.push_back(v);
  FusedRun run(all, in, out, nullptr);
  if (!run.compile(cpu_backend().kernels())) return false;
  run.run();
  return true;
}

void replay(const Fused& a, Inputs in, Outputs out) {
  LevelScope scope(cpu_backend());
  const Tensors results = op::fused.decompose({&op::fused, &a}, in);
  for (size_t i = 0; i < out.size(); ++i) convert_into(results[int64_t(i)], out[i]);
}

void fused(const Fused& a, Inputs in, Outputs out) {
  const bool done = begins_with_product(*a.body) ? run_product(a, in, out) : run_elementwise(a, in, out);
  if (!done) replay(a, in, out);
}

}  // namespace

void register_fused(KernelTable& kernels) { kernels.add_for_all<fused>(op::fused); }

}  // namespace pyburn::cpu
