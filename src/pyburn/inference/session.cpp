#include "pyburn/inference/session.h"

#include <algorithm>
#include <unordered_map>

#include "pyburn/decorators/autodiff/autodiff.h"
#include "pyburn/graph/extents.h"
#include "pyburn/graph/passes.h"
#include "pyburn/inference/graph_file.h"
#include "pyburn/runtime/door_ops.h"
#include "pyburn/runtime/run.h"
#include "pyburn/runtime/spoiled.h"
#include "pyburn/runtime/transfer.h"
#include "pyburn/support/interrupt.h"

namespace pyburn {
namespace {

// The leaf of a stack that has nothing above it but autodiff, which has nothing to record here.
Backend* plain_leaf(Device& device) {
  Backend* backend = &device.backend();
  if (auto* autodiff = dynamic_cast<Autodiff*>(backend)) backend = autodiff->inner();
  return backend->inner() ? nullptr : backend;
}

// Constants on one storage stay on one storage.
class Snapshot {
 public:
  explicit Snapshot(Device& device) : device_(device) {}

  TensorHandle operator()(const TensorHandle& t) {
    if (&t.device() != &device_) return moved_to(device_, t);
    Ref<Storage>& copy = copies_[t.storage()];
    if (!copy) copy = copy_of(t);
    return make_tensor(device_, t.dtype(), t.layout(), copy);
  }

 private:
  Ref<Storage> copy_of(const TensorHandle& t) const {
    const Layout whole = contiguous_layout(Shape{t.storage()->bytes / size_of(t.dtype())});
    InputList in;
    const TensorHandle all = alias(t, whole);
    in.add(all);
    const LevelScope below(plain_leaf(device_) ? *plain_leaf(device_) : device_.backend());
    return call(op::cast, CastTo{t.dtype()}, in).impl()->storage;
  }
  Device& device_;
  std::unordered_map<const Storage*, Ref<Storage>> copies_;
};

Ref<Graph> with_own_constants(const Graph& graph, Device& device) {
  Ref<Graph> own = copy_of(graph);
  Snapshot snapshot(device);
  for (auto& [v, t] : own->constants) t = snapshot(t);
  return own;
}

}  // namespace

Session::Session(Ref<Graph> graph, Device& device) : Session(std::move(graph), device, Constants::shared) {}

Session::Session(Ref<Graph> graph, Device& device, Constants constants) : device_(device), leaf_(plain_leaf(device)) {
  check(*graph);
  graph_ = optimise(constants == Constants::own ? *graph : *with_own_constants(*graph, device));
  graph = nullptr;
  prepare_now();
}

std::unique_ptr<Session> Session::load(const std::string& path, Device& device) {
  return std::unique_ptr<Session>(new Session(load_graph(path, device), device, Constants::own));
}
void Session::save(const std::string& path) const { save_graph(graph(), path); }

// What fails here is raised by the first run.
void Session::prepare_now() {
  if (!leaf_ || !graph_->extents.empty()) return;
  std::vector<Shape> shapes;
  for (ValueId v : graph_->inputs) shapes.push_back(graph_->values[size_t(v)].shape);
  try {
    if (std::shared_ptr<PreparedProgram> program = prepare({}, shapes)) {
      program->prepare_context();
      known_.emplace_front(Extents{}, std::move(program));
    }
  } catch (const Interrupted&) {
    throw;
  } catch (const Error&) {
  }
}

std::shared_ptr<PreparedProgram> Session::prepare(const Extents& extents, std::span<const Shape> shapes) {
  std::vector<TensorHandle> constants;
  for (const auto& [v, t] : graph_->constants) constants.push_back(t);
  std::optional<LoweredProgram> program = lower(*graph_, {extents.data(), size_t(extents.size())}, shapes, constants, device_, *leaf_);
  return program ? std::make_shared<PreparedProgram>(std::move(*program), device_, *leaf_) : nullptr;
}

std::shared_ptr<PreparedProgram> Session::prepared(std::span<const TensorHandle> inputs) {
  const Extents extents = extents_of(*graph_, inputs);
  const std::lock_guard lock(mutex_);
  const auto known = std::find_if(known_.begin(), known_.end(), [&](const auto& entry) { return entry.first == extents; });
  if (known != known_.end()) {
    known_.splice(known_.begin(), known_, known);
    return known->second;
  }
  std::vector<Shape> shapes;
  for (const TensorHandle& t : inputs) shapes.push_back(t.shape());
  std::shared_ptr<PreparedProgram> program = leaf_ ? prepare(extents, shapes) : nullptr;
  if (!program && !replay_) replay_ = std::make_unique<Replay>(graph_, device_);
  known_.emplace_front(extents, program);
  if (known_.size() > kKept) known_.pop_back();
  return program;
}

Tensors Session::run(std::span<const TensorHandle> inputs, StepWatcher* watcher) {
  const std::shared_ptr<PreparedProgram> program = prepared(inputs);
  for (size_t i = 0; i < inputs.size(); ++i)
    require<DeviceError>(&inputs[i].device() == &device_, "[Session] expected inputs on {}: got input {} on {}; move it to session.device",
        device_.name(), i, inputs[i].device().name());
  if (!program) return replay_->run(inputs);
  for (const TensorHandle& t : inputs) {
    require<CaptureError>(t.storage()->has_values, "[Session] the tensor was made while capturing and has no values: got {}", t.shape());
    raise_if_spoiled(*t.storage());
  }
  std::unique_lock<ForkSafeMutex> one_at_a_time(state_mutex_, std::defer_lock);
  if (program->writes_constants()) one_at_a_time.lock();
  return program->run(inputs, watcher);
}

}  // namespace pyburn
