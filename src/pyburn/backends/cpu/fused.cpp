// fused: runs a program over tiles. What it computes on the way never leaves the first-level cache.
#include "pyburn/backends/cpu/fused/fused.h"

#include "pyburn/backends/cpu/cpu_backend.h"
#include "pyburn/backends/cpu/fused/product.h"
#include "pyburn/backends/cpu/fused/run.h"
#include "pyburn/runtime/run.h"

namespace pyburn::cpu {
namespace {

// A body of element-wise operations, optionally with a reduction at its end.
class FusedChain final : public PreparedCall {
 public:
  FusedChain(const Fused& a, Inputs in, Outputs out) : body_(a.body), all_(whole(*a.body)), run_(all_, in, out, nullptr) {}
  bool prepare() { return run_.compile(cpu_backend().kernels()); }
  void run() override {
    run_.find_memory();
    run_.run();
  }

 private:
  static Section whole(const Graph& body) {
    Section all{body, 0, {}, {}};
    for (ValueId v : body.inputs) all.inputs.push_back(v);
    for (ValueId v : body.outputs) all.outputs.push_back(v);
    return all;
  }
  const Ref<Graph> body_;
  const Section all_;
  FusedRun run_;
};

bool run_chain(const Fused& a, Inputs in, Outputs out) {
  if (a.body->nodes.empty()) return false;
  FusedChain chain(a, in, out);
  if (!chain.prepare()) return false;
  chain.run();
  return true;
}

void replay(const Fused& a, Inputs in, Outputs out) {
  LevelScope scope(cpu_backend());
  const Tensors results = op::fused.decompose({&op::fused, &a}, in);
  for (size_t i = 0; i < out.size(); ++i) convert_into(results[int64_t(i)], out[i]);
}

void fused(const Fused& a, Inputs in, Outputs out) {
  const bool done = begins_with_product(*a.body) ? run_product(a, in, out) : run_chain(a, in, out);
  if (!done) replay(a, in, out);
}

}  // namespace

Ref<PreparedCall> prepare_fused(const Fused& a, Inputs in, Outputs out) {
  if (begins_with_product(*a.body)) return prepare_product(a, in, out);
  if (a.body->nodes.empty()) return nullptr;
  Ref<FusedChain> chain = make_ref<FusedChain>(a, in, out);
  return chain->prepare() ? Ref<PreparedCall>(chain.get()) : nullptr;
}

void register_fused(KernelTable& kernels) { kernels.add_for_all<fused>(op::fused); }

}  // namespace pyburn::cpu
