// Fusion: runs of elementwise operations become one operation of the backend below. Operations wait in a queue until
// somebody looks at a value; inference has happened at the door, so errors of the user rise at the call.
#pragma once
#include "pyburn/decorators/fusion/queue.h"
#include "pyburn/graph/fuse.h"
#include "pyburn/runtime/decorator.h"
#include "pyburn/runtime/inner_device.h"
#include "pyburn/support/fork_safe_mutex.h"

namespace pyburn {

struct FusionStatistics {
  int64_t passed = 0;  // operations that ran at once
  int64_t queued = 0;
  int64_t flushes = 0;
  int64_t kernels = 0;        // operations that the inner backend was given by flushes
  int64_t fused_kernels = 0;  // those of them that were `fused`
  int64_t fused_nodes = 0;    // operations inside these
  int64_t plans_found = 0, plans_made = 0;
};

class Fusion final : public Decorator {
 public:
  explicit Fusion(Ref<Backend> inner);

  void execute(OpRef op, Inputs in, Outputs out) override;
  KernelSupport support(const OpInfo& op, DType key) const override;
  Ref<Storage> allocate(DType dtype, int64_t elements) override;
  void upload(const HostArray& from, const TensorHandle& to) override;
  void download(const TensorHandle& from, const HostArray& to) override;
  void synchronize() override;
  Capabilities capabilities() const override;
  std::string name() const override { return "fusion(" + inner_->name() + ")"; }
  bool sees_views() const override { return false; }
  bool owns_storage() const override { return true; }

  // Runs what is queued. The error of an operation that fails stays with the storages it should have written; the rest is computed.
  void flush();

  // An operation that touches nothing pending runs at once when its result has at most this many elements, or when it
  // could not be fused anyway. 0: everything is queued. See kSmallLimit.
  void set_small_limit(int64_t elements) { small_limit_.store(elements, std::memory_order_relaxed); }
  int64_t small_limit() const { return small_limit_.load(std::memory_order_relaxed); }
  // Measured with chains of nine cheap operations: below this size, queueing and cutting cost more than they save.
  static constexpr int64_t kSmallLimit = 8192;

  // The memory of x: computes it first. For numpy, DLPack and whoever else shares memory.
  Ref<Storage> materialise(const TensorHandle& x);
  // A storage of the inner backend as one of this device, without a copy.
  Ref<Storage> adopt(Ref<Storage> inner, DType dtype);

  FusionStatistics statistics() const;
  void reset_statistics();

 private:
  FusionStorage& storage_of(const TensorHandle& t) const;  // DeviceError when it belongs to another backend
  bool may_pass(const OpInfo& op, Inputs in, Outputs out) const;
  void run_at_once(OpRef op, Inputs in, Outputs out);
  void run_dynamic(OpRef op, Inputs in, Outputs out);

  // Tensors of the inner backend. One that is read raises the error that spoiled it; the target of a write gets memory, and a new version
  // when it had some.
  TensorHandle inner_tensor(const TensorHandle& t);
  TensorHandle inner_tensor(FusionStorage& storage, DType dtype, const Layout& layout);
  TensorHandle inner_target(FusionStorage& storage, DType dtype, const Layout& layout);

  TensorHandle computed(FusionStorage& storage, DType dtype, const Layout& layout);

  void flush_locked();  // in flush.cpp, as are the following
  Ref<const Plan> plan();
  void run_step(const Step& step);
  void run_node(const LoweredNode& node);
  void run_fused(const FusedStep& step);

  Backend& memory_owner_;  // the backend below that makes storages
  InnerDevice inner_device_;
  std::atomic<int64_t> small_limit_{kSmallLimit};

  mutable ForkSafeMutex mutex_;  // guards all that follows
  Queue queue_;
  PlanCache plans_;
  FusionStatistics statistics_;
  std::atomic<int64_t> passed_{0};
};

// The fusion layer of a device; null when it has none.
Fusion* fusion_of(const Device& device);

void register_fusion();

}  // namespace pyburn
