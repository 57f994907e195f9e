// Session: a graph, ready to run. Needs neither Python nor the model it came from.
#pragma once
#include "pyburn/graph/replay.h"

namespace pyburn {

class Session {
 public:
  Session(Ref<Graph> graph, Device& device) : replay_(std::move(graph), device) {}
  static std::unique_ptr<Session> load(const std::string& path, Device& device = default_device());
  void save(const std::string& path) const;

  Tensors run(std::span<const TensorHandle> inputs) { return replay_.run(inputs); }  // inputs on device()
  const Graph& graph() const { return replay_.graph(); }
  Device& device() const { return replay_.device(); }

 private:
  Replay replay_;
};

}  // namespace pyburn
