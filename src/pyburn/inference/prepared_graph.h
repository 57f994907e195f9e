// PreparedGraph: a graph on a leaf, ready to run for any sizes. What is known before values are runs as prepared programs, one for each
// set of sizes, at most eight of them; the rest, and the graphs inside it, are taken one by one.
#pragma once
#include <list>

#include "pyburn/graph/split.h"
#include "pyburn/inference/prepared_program.h"
#include "pyburn/runtime/graph_run.h"

namespace pyburn {

// The values that were used last, by a list of numbers.
template <class Value>
class RecentValues {
 public:
  static constexpr size_t kKept = 8;
  using Key = SmallVector<int64_t, 8>;
  // make() is called for a key that is new; null is a value like others.
  template <class Make>
  std::shared_ptr<Value> find(const Key& key, Make make) {
    const std::lock_guard lock(mutex_);
    for (auto it = entries_.begin(); it != entries_.end(); ++it)
      if (it->first == key) {
        entries_.splice(entries_.begin(), entries_, it);
        return entries_.front().second;
      }
    std::shared_ptr<Value> fresh = make();
    entries_.emplace_front(key, fresh);
    if (entries_.size() > kKept) entries_.pop_back();
    return fresh;
  }

 private:
  ForkSafeMutex mutex_;
  std::list<std::pair<Key, std::shared_ptr<Value>>> entries_;
};

class PreparedGraph {
 public:
  // `is_inside`: the graph belongs to an operation.
  PreparedGraph(Ref<Graph> graph, Device& device, Backend& leaf, bool is_inside = false);
  ~PreparedGraph();

  // Inputs fit the graph. `constants`: what stands for its constants, where the caller has state of its own; else empty.
  Tensors run(Inputs inputs, std::span<const TensorHandle> constants = {}, StepWatcher* watcher = nullptr);
  // The program that does all of it. Null where there are several stages, or none can be prepared.
  std::shared_ptr<PreparedProgram> whole(Inputs inputs);
  // Does now what the first run would do, where the graph has no free extents: weights are packed.
  void prepare_now();

 private:
  struct Stage;
  struct Inside;
  using Key = SmallVector<int64_t, 8>;
  std::shared_ptr<PreparedProgram> prepare(Stage& stage, const Key& key, std::span<const int64_t> extents, std::span<const Shape> inputs);
  void run_part(Stage& stage, GraphRun& run, std::span<const TensorHandle> constants, StepWatcher* watcher);
  void run_node(const GraphNode& node, GraphRun& run, StepWatcher* watcher);
  void run_alone(Stage& stage, GraphRun& run, StepWatcher* watcher);

  Ref<Graph> graph_;
  Device& device_;
  Backend& leaf_;
  std::vector<std::unique_ptr<Stage>> stages_;
};

}  // namespace pyburn
