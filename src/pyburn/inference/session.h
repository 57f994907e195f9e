// Session: a graph prepared to run. Needs neither Python nor the original model.
#pragma once
#include <memory>
#include <string>

#include "pyburn/graph/replay.h"
#include "pyburn/inference/prepared_graph.h"

namespace pyburn {

class Session;

// The state of one stream of calls: what the graph writes to, such as running statistics or a key-value cache. Calls of one context run one
// after the other; contexts of one session run at once.
class SessionContext {
 public:
  explicit SessionContext(Session& session);  // the session outlives it
  Tensors run(std::span<const TensorHandle> inputs, StepWatcher* watcher = nullptr);
  void reset();  // to what the state was when the session was made
  // Names and present values of what the graph writes to. They share memory with the context.
  std::vector<std::pair<std::string, TensorHandle>> state() const;

 private:
  void take_initial_state();
  Session& session_;
  mutable ForkSafeMutex mutex_;
  std::vector<TensorHandle> constants_;  // parallel to the graph's; empty where the graph has no state
};

class Session {
 public:
  // The session keeps the constants as they are now: training the model later does not change it. With `taken` it does not copy them:
  // no other code writes to them. A graph without free extents is prepared at once, weights packed.
  enum class Constants : uint8_t { copied, taken };
  Session(Ref<Graph> graph, Device& device, Constants constants = Constants::copied);
  // Constants of a large file stay in its mapping; what is computed from them takes memory.
  static std::unique_ptr<Session> load(const std::string& path, Device& device = default_device());
  // `packed`: with the packed weights of what is prepared, which makes the file larger, and loading it on such a machine much faster.
  void save(const std::string& path, bool packed = true) const;

  // Inputs on device(). Any number of threads at once; where the graph writes to state of its own, calls share that state and run one after
  // the other. Contexts have states of their own.
  Tensors run(std::span<const TensorHandle> inputs, StepWatcher* watcher = nullptr) { return own_->run(inputs, watcher); }
  std::unique_ptr<SessionContext> new_context() { return std::make_unique<SessionContext>(*this); }
  SessionContext& context() { return *own_; }
  bool has_state() const { return has_state_; }

  // What run() does for these inputs. Null where it is not one program: on a stack of decorators, and where sizes or branches depend on
  // values.
  std::shared_ptr<PreparedProgram> prepared(std::span<const TensorHandle> inputs);

  bool is_prepared() const { return bool(prepared_); }  // false on a stack of decorators: there are no steps to watch
  const Graph& graph() const { return *graph_; }
  Device& device() const { return device_; }

 private:
  friend SessionContext;
  Tensors run(std::span<const TensorHandle> inputs, std::span<const TensorHandle> constants, StepWatcher* watcher);

  Ref<Graph> graph_;
  Device& device_;
  Backend* leaf_;            // null on a stack of decorators
  std::vector<bool> state_;  // parallel to the graph's constants: may it be written?
  bool has_state_ = false;
  std::unique_ptr<PreparedGraph> prepared_;  // one of these two
  std::unique_ptr<Replay> replay_;
  std::unique_ptr<SessionContext> own_;
};

}  // namespace pyburn
