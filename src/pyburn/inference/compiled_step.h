// CompiledStep: a recorded training step as a prepared program that works on the memory of its parameters, buffers and optimiser state.
#pragma once
#include "pyburn/inference/prepared_program.h"
#include "pyburn/inference/step_recording.h"

namespace pyburn {

class CompiledStep {
 public:
  // `again`: another recording of the same program. Tensors that have other memory there are constants.
  // CaptureError if the device prepares no programs, or the step writes to its arguments.
  CompiledStep(Ref<RecordedStep> step, const RecordedStep& again);

  // Are state, gradients and modes as the program expects them, and does no input share memory with them? Inputs have the shapes and
  // dtypes of the recording.
  bool fits(std::span<const TensorHandle> inputs) const;
  // What the step does and leaves behind. `optimizer_steps`: the operations of the optimiser with their numbers for this run.
  Tensors run(std::span<const TensorHandle> inputs, std::span<const Operation> optimizer_steps);

  size_t optimizer_steps() const { return updates_.size(); }
  PreparedProgram& program() const { return *program_; }
  const RecordedStep& step() const { return *step_; }

 private:
  struct Draw {  // a node that draws
    size_t node;
    size_t from;       // number in step_->draws
    uint64_t counter;  // relative to its start
  };
  TensorHandle present(const StepState& s) const;
  void require_bound(const LoweredProgram& lowered) const;
  void find_run_time_nodes(const Graph& optimised);
  void draw();

  Ref<const RecordedStep> step_;
  std::unique_ptr<PreparedProgram> program_;
  std::vector<int32_t> inputs_;       // of the program after those of the step: numbers of states
  std::vector<int32_t> constants_;    // of the program: numbers of states; -1: a constant
  std::vector<TensorHandle> values_;  // parallel
  std::vector<Draw> draws_;
  std::vector<size_t> updates_;  // nodes
  ForkSafeMutex mutex_;
};

}  // namespace pyburn
