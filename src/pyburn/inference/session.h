// Session: a graph, ready to run. Needs neither Python nor the model it came from.
#pragma once
#include <list>

#include "pyburn/graph/extents.h"
#include "pyburn/graph/replay.h"
#include "pyburn/inference/prepared_program.h"

namespace pyburn {

class Session {
 public:
  // The session keeps the constants as they are now: training the model later does not change it. A graph without free extents is
  // prepared at once, weights packed.
  Session(Ref<Graph> graph, Device& device);
  // Constants of a large file stay in its mapping; what is computed from them takes memory.
  static std::unique_ptr<Session> load(const std::string& path, Device& device = default_device());
  void save(const std::string& path) const;

  // Inputs on device(). Any number of threads at once; a graph that writes to its own state runs for one after the other.
  Tensors run(std::span<const TensorHandle> inputs, StepWatcher* watcher = nullptr);
  // What run() does for these inputs. Null where it goes through the graph operation by operation: on a stack of decorators, and where
  // the size of a result depends on values.
  std::shared_ptr<PreparedProgram> prepared(std::span<const TensorHandle> inputs);

  const Graph& graph() const { return *graph_; }
  Device& device() const { return device_; }

 private:
  static constexpr size_t kKept = 8;  // sizes of the free extents that stay prepared
  enum class Constants : uint8_t { shared, own };
  Session(Ref<Graph> graph, Device& device, Constants constants);
  std::shared_ptr<PreparedProgram> prepare(const Extents& extents, std::span<const Shape> inputs);
  void prepare_now();

  Ref<Graph> graph_;
  Device& device_;
  Backend* leaf_;  // null on a stack of decorators
  ForkSafeMutex mutex_, state_mutex_;
  std::list<std::pair<Extents, std::shared_ptr<PreparedProgram>>> known_;  // the last used first
  std::unique_ptr<Replay> replay_;
};

}  // namespace pyburn
