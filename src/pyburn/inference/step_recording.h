// StepRecording: records a training step while it runs. The step runs as it always does, with real tensors; below autodiff its operations,
// those of the backward pass and of the optimiser among them, are noted as a graph on the very memory of parameters and state.
#pragma once
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "pyburn/ir/graph.h"
#include "pyburn/runtime/autocast.h"
#include "pyburn/runtime/device.h"
#include "pyburn/runtime/generator.h"

namespace pyburn {

// A tensor that the step uses and did not make: a constant of its graph.
struct StepState {
  TensorHandle tensor;   // as the operations received it
  Ref<Storage> storage;  // and what it was then
  Layout layout;
  bool requires_grad = false;
  int32_t gradient_of = -1;  // it is .grad of this leaf, and may be another tensor the next time
};

// A tensor whose .grad the step uses or replaces.
struct StepLeaf {
  enum class After : uint8_t { kept, cleared, made };
  TensorHandle leaf;
  TensorHandle before;  // .grad when the step began
  bool had_gradient = false;
  After after = After::kept;
};

// The range of random numbers that the step draws from one generator.
struct StepDraws {
  Ref<Generator> generator;  // null: the default one of the thread
  RandomState start;
  uint64_t counters = 0;
};

struct StepModes {  // of the thread
  bool grad = true, inference = false;
  AutocastMode autocast;
  static StepModes now();
  bool operator==(const StepModes& o) const;
};

struct RecordedStep : Counted {
  Device* device = nullptr;
  Ref<Graph> graph;            // inputs: those of the step. Outputs: its results, then the gradients that it made, in the order of `leaves`
  std::vector<Layout> inputs;  // how the inputs of the step lie
  int64_t results = 0;
  std::vector<StepState> state;  // parallel to the graph's constants
  std::vector<StepLeaf> leaves;
  std::vector<StepDraws> draws;
  StepModes modes;
  std::vector<std::string> lines;  // parallel to nodes: where the program called them; may be empty
};

// Are these two recordings of the same program? What may differ: random streams, the attributes of optimiser steps, and where gradients
// lie. Empty if they are; else the first difference.
std::string difference(const RecordedStep& a, const RecordedStep& b);

bool has_hooks(const TensorHandle& leaf);

class StepRecording {
 public:
  using Caller = std::function<std::string()>;
  // Begins on this thread, which also ends it. `inputs` are the tensors among the arguments, each on `device`. `caller` names the line of
  // the program that runs.
  StepRecording(Device& device, std::span<const TensorHandle> inputs, Caller caller = {});
  ~StepRecording();
  StepRecording(const StepRecording&) = delete;

  void refuse(std::string why);     // the step cannot be replayed; the first reason counts
  int64_t optimizer_steps() const;  // operations so far
  // Ends the recording. Null if the step cannot be replayed, for `reason()`.
  Ref<RecordedStep> finish(std::span<const TensorHandle> results);
  const std::string& reason() const;

 private:
  class Body;
  std::unique_ptr<Body> body_;
};

}  // namespace pyburn
