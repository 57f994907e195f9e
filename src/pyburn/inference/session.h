// Session: a graph prepared to run. Needs neither Python nor the original model.
#pragma once
#include <list>

#include "pyburn/graph/extents.h"
#include "pyburn/graph/replay.h"
#include "pyburn/inference/prepared_program.h"

namespace pyburn {

class Session {
 public:
  // The session copies the constants: training the model later does not change it.
  Session(Ref<Graph> graph, Device& device);
  static std::unique_ptr<Session> load(const std::string& path, Device& device = default_device());
  void save(const std::string& path) const;

  // Inputs must be on device(). Any number of threads may call it; graphs that write to their state run one at a time.
  Tensors run(std::span<const TensorHandle> inputs, StepWatcher* watcher = nullptr);
  // The program that run() uses for these inputs. Null if the graph is replayed operation by operation: on a stack of decorators, and if a
  // size depends on values.
  std::shared_ptr<PreparedProgram> prepared(std::span<const TensorHandle> inputs);

  const Graph& graph() const { return *graph_; }
  Device& device() const { return device_; }

 private:
  static constexpr size_t kKept = 8;  // number of dynamic sizes that stay prepared
  std::shared_ptr<PreparedProgram> prepare(const Extents& extents, std::span<const TensorHandle> inputs);

  Ref<Graph> graph_;
  Device& device_;
  Backend* leaf_;  // null on a stack of decorators
  ForkSafeMutex mutex_, state_mutex_;
  std::list<std::pair<Extents, std::shared_ptr<PreparedProgram>>> known_;  // most recently used first
  std::unique_ptr<Replay> replay_;
};

}  // namespace pyburn
