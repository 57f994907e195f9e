// PreparedProgram: a lowered program with all run-independent decisions made, ready to run below the door.
#pragma once
#include <memory>

#include "pyburn/graph/memory_plan.h"
#include "pyburn/graph/program_passes.h"
#include "pyburn/support/fork_safe_mutex.h"

namespace pyburn {

class PreparedProgram;

// Called after each step of a run, with nanoseconds of the steady clock.
class StepWatcher {
 public:
  virtual void step(const PreparedProgram& program, size_t index, int64_t start, int64_t end) = 0;
  // A node that runs by itself, because its work follows from values.
  virtual void step(const GraphNode& node, const Shape& result, int64_t start, int64_t end) = 0;

 protected:
  ~StepWatcher() = default;
};
int64_t steady_nanoseconds();

class PreparedProgram {
 public:
  // Programs that run once per request start sooner in ordinary pages; those that run for hours are faster in huge ones.
  enum class Pages : uint8_t { ordinary, huge };
  PreparedProgram(LoweredProgram program, Device& device, Backend& backend, Pages pages = Pages::ordinary);
  ~PreparedProgram();

  // Inputs have the shapes and dtypes that the program was lowered for; if their layout is another one than that, contiguous inputs were
  // expected. Any number of threads at once, each with memory of its own.
  // `constants`: those of the graph, where the caller has state of its own, which no other run uses; else empty.
  Tensors run(std::span<const TensorHandle> inputs, std::span<const TensorHandle> constants = {}, StepWatcher* watcher = nullptr);

  void prepare_context();  // for the first run, which else does it
  // Other attributes for a node that runs by execute(): numbers that change from run to run. Not during a run.
  void set_operation(size_t node, Operation op) { program_.nodes[node].op = std::move(op); }

  const LoweredProgram& program() const { return program_; }
  const MemoryPlan& memory() const { return memory_; }

 private:
  class Context;
  class PageScope;
  std::unique_ptr<Context> take_context();

  LoweredProgram program_;
  Device& device_;
  Backend& backend_;
  Pages pages_;
  MemoryPlan memory_;
  std::vector<int64_t> places_;  // offsets of slots in the arena; -1: elsewhere
  struct Needs {
    SmallVector<int32_t, 1> fresh, last;  // slots that are allocated before a node, and freed after it
    bool direct;                          // execute() accepts it directly
  };
  std::vector<Needs> needs_;  // per node
  ForkSafeMutex mutex_;
  std::vector<std::unique_ptr<Context>> free_;  // idle execution contexts
};

}  // namespace pyburn
