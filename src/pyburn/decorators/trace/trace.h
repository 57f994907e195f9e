// Trace: a backend that runs operations on another one and, while recording, adds them to a Graph.
#pragma once
#include <memory>

#include "pyburn/decorators/trace/recorder.h"
#include "pyburn/runtime/decorator.h"
#include "pyburn/runtime/run.h"
#include "pyburn/support/fork_safe_mutex.h"

namespace pyburn {

class Trace final : public Decorator {
 public:
  explicit Trace(Ref<Backend> inner);

  // Tensors that are neither inputs nor results of recorded operations become constants.
  // `is_inside`: records a graph inside the one that another trace records.
  void start(std::span<const TensorHandle> inputs, std::vector<std::string> names = {}, bool is_inside = false);
  void name_constant(const TensorHandle& x, std::string name);
  Ref<Graph> finish(std::span<const TensorHandle> outputs, std::vector<std::string> names = {});
  void cancel();

  void execute(OpRef op, Inputs in, Outputs out) override;
  void download(const TensorHandle& from, const HostArray& to) override;
  std::string name() const override { return "trace(" + inner_->name() + ")"; }
  bool keeps_values() const { return keeps_values_; }
  bool knows_values_of(const TensorHandle& x);  // may download() be called?

 private:
  Recorder& recorder() const;
  bool is_known(OpRef op, Inputs in, Outputs out) const;
  bool compute(OpRef op, Inputs in, Outputs out) const;

  bool keeps_values_;  // false on null: only the shapes of results are known
  ForkSafeMutex mutex_;
  std::unique_ptr<Recorder> recorder_;  // while recording
};

// A recording of this thread. Operations enter the stack at `trace`, whatever device their tensors are on: with trace(null), a model is
// captured without computing, and its tensors become the constants.
class Recording {
 public:
  Recording(Trace& trace, std::span<const TensorHandle> inputs, std::vector<std::string> names = {}, bool is_inside = false);
  ~Recording() { trace_.cancel(); }
  Ref<Graph> finish(std::span<const TensorHandle> outputs, std::vector<std::string> names = {}) {
    return trace_.finish(outputs, std::move(names));
  }

 private:
  Trace& trace_;
  LevelScope scope_;
};

// Do operations of this thread enter a trace over null: are they recorded without being computed?
bool is_capturing();

void register_trace_backend();

}  // namespace pyburn
