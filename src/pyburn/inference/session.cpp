#include "pyburn/inference/session.h"

#include <algorithm>
#include <unordered_map>

#include "pyburn/decorators/autodiff/autodiff.h"
#include "pyburn/graph/aliases.h"
#include "pyburn/graph/passes.h"
#include "pyburn/inference/graph_file.h"
#include "pyburn/runtime/door_ops.h"
#include "pyburn/runtime/ordinary_pages.h"
#include "pyburn/runtime/run.h"
#include "pyburn/runtime/spoiled.h"
#include "pyburn/runtime/transfer.h"

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

SessionContext::SessionContext(Session& session) : session_(session) { take_initial_state(); }

void SessionContext::take_initial_state() {
  if (!session_.has_state_) return;
  Snapshot snapshot(session_.device_);
  constants_.clear();
  for (size_t i = 0; i < session_.graph_->constants.size(); ++i) {
    const TensorHandle& initial = session_.graph_->constants[i].second;
    constants_.push_back(session_.state_[i] ? snapshot(initial) : initial);
  }
}

void SessionContext::reset() {
  const std::lock_guard lock(mutex_);
  take_initial_state();
}

std::vector<std::pair<std::string, TensorHandle>> SessionContext::state() const {
  const std::lock_guard lock(mutex_);
  std::vector<std::pair<std::string, TensorHandle>> named;
  const Graph& g = *session_.graph_;
  for (size_t i = 0; i < constants_.size(); ++i)
    if (session_.state_[i]) named.emplace_back(i < g.constant_names.size() ? g.constant_names[i] : "", constants_[i]);
  return named;
}

Tensors SessionContext::run(std::span<const TensorHandle> inputs, StepWatcher* watcher) {
  std::unique_lock<ForkSafeMutex> one_at_a_time(mutex_, std::defer_lock);
  if (session_.has_state_) one_at_a_time.lock();
  return session_.run(inputs, constants_, watcher);
}

Session::Session(Ref<Graph> graph, Device& device, Constants constants) : device_(device), leaf_(plain_leaf(device)) {
  const OrdinaryPages pages;
  check(*graph);
  graph_ = optimise(constants == Constants::copied ? *with_own_constants(*graph, device) : *graph);
  const std::vector<bool> written = values_that_may_be_written(*graph_);
  for (const auto& [v, t] : graph_->constants) state_.push_back(written[size_t(v)]);
  has_state_ = std::find(state_.begin(), state_.end(), true) != state_.end();
  const bool writes_inputs = std::any_of(graph_->inputs.begin(), graph_->inputs.end(), [&](ValueId v) { return written[size_t(v)]; });
  graph = nullptr;
  if (leaf_ && !writes_inputs) prepared_ = std::make_unique<PreparedGraph>(graph_, device, *leaf_);
  else replay_ = std::make_unique<Replay>(graph_, device);
  if (prepared_) prepared_->prepare_now();
  own_ = new_context();
}

std::unique_ptr<Session> Session::load(const std::string& path, Device& device) {
  return std::make_unique<Session>(load_graph(path, device), device, Constants::taken);
}
void Session::save(const std::string& path, bool packed) const { save_graph(graph(), path, packed); }

std::shared_ptr<PreparedProgram> Session::prepared(std::span<const TensorHandle> inputs) {
  InputList list;
  list.add(inputs);
  return prepared_ ? prepared_->whole(list) : nullptr;
}

Tensors Session::run(std::span<const TensorHandle> inputs, std::span<const TensorHandle> constants, StepWatcher* watcher) {
  InputList list;
  list.add(inputs);
  const std::shared_ptr<PreparedProgram> program = prepared_ ? prepared_->whole(list) : nullptr;
  for (size_t i = 0; i < inputs.size(); ++i)
    require<DeviceError>(&inputs[i].device() == &device_, "[Session] expected inputs on {}: got input {} on {}; move it to session.device",
        device_.name(), i, inputs[i].device().name());
  if (!prepared_) return replay_->run(inputs, constants);
  for (const TensorHandle& t : inputs) {
    require<CaptureError>(t.storage()->has_values, "[Session] the tensor was made while capturing and has no values: got {}", t.shape());
    raise_if_spoiled(*t.storage());
  }
  return program ? program->run(inputs, constants, watcher) : prepared_->run(list, constants, watcher);
}

}  // namespace pyburn
