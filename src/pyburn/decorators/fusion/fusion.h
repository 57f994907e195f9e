// Fusion: runs of element-wise operations become one operation of the backend below. Operations are queued until a value is needed;
// inference runs at the call, so user errors are raised there.
#pragma once
#include "pyburn/decorators/fusion/queue.h"
#include "pyburn/graph/fuse.h"
#include "pyburn/runtime/decorator.h"
#include "pyburn/runtime/inner_device.h"
#include "pyburn/support/fork_safe_mutex.h"

namespace pyburn {

struct FusionStatistics {
  int64_t passed = 0;  // operations that ran immediately
  int64_t queued = 0;
  int64_t flushes = 0;
  int64_t kernels = 0;        // operations passed to the inner backend by flushes
  int64_t fused_kernels = 0;  // of these, the `fused` ones
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

  // Runs the queue. The error of a failed operation is stored in the storages that it should have written; the others are computed.
  void flush();

  // An operation without pending inputs runs immediately if its result has at most this many elements, or if it cannot be fused. 0:
  // everything is queued. See kSmallLimit.
  void set_small_limit(int64_t elements) { small_limit_.store(elements, std::memory_order_relaxed); }
  int64_t small_limit() const { return small_limit_.load(std::memory_order_relaxed); }
  // Measured on the CPU with chains of nine cheap operations: below this size, queueing and planning cost more than fusion saves. Above an
  // asynchronous backend the limit is 0: there a kernel costs more than a place in the queue, however small it is.
  static constexpr int64_t kSmallLimit = 8192;

  // The memory of x, after computing it. For numpy, DLPack and other consumers of raw memory.
  Ref<Storage> materialise(const TensorHandle& x);
  // Wraps a storage of the inner backend as one of this device, without a copy.
  Ref<Storage> adopt(Ref<Storage> inner, DType dtype);

  FusionStatistics statistics() const;
  void reset_statistics();

 private:
  FusionStorage& storage_of(const TensorHandle& t) const;  // DeviceError if it belongs to another backend
  bool may_pass(const OpInfo& op, Inputs in, Outputs out) const;
  void run_at_once(OpRef op, Inputs in, Outputs out);
  void run_dynamic(OpRef op, Inputs in, Outputs out);

  // The tensors of the inner backend. Reading a failed one raises its stored error; the target of a write gets memory, and a new version if
  // it had some.
  TensorHandle inner_tensor(const TensorHandle& t);
  TensorHandle inner_tensor(FusionStorage& storage, DType dtype, const Layout& layout);
  TensorHandle inner_target(FusionStorage& storage, DType dtype, const Layout& layout);

  TensorHandle computed(FusionStorage& storage, DType dtype, const Layout& layout);

  void flush_locked();  // in flush.cpp, like the following
  Ref<const Plan> plan();
  void run_step(const Step& step);
  void run_node(const LoweredNode& node);
  void run_fused(const FusedStep& step);

  Backend& memory_owner_;  // the backend below, which allocates storages
  InnerDevice inner_device_;
  const bool asynchronous_;  // the backend below
  std::atomic<int64_t> small_limit_;

  mutable ForkSafeMutex mutex_;  // guards all members below
  Queue queue_;
  PlanCache plans_;
  FusionStatistics statistics_;
  std::atomic<int64_t> passed_{0};
};

// The fusion layer of a device; null if it has none.
Fusion* fusion_of(const Device& device);

void register_fusion();

}  // namespace pyburn
