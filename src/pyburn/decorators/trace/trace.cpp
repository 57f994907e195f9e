#include "pyburn/decorators/trace/trace.h"

#include "pyburn/runtime/device_identity.h"
#include "pyburn/runtime/door_ops.h"

namespace pyburn {

Trace::Trace(Ref<Backend> inner) : Decorator(std::move(inner)), keeps_values_(inner_->capabilities().values) {}

void Trace::start(std::span<const TensorHandle> inputs, std::vector<std::string> names) {
  std::lock_guard lock(mutex_);
  require<CaptureError>(!recorder_, "[trace] this device is already recording");
  require<ValueError>(names.empty() || names.size() == inputs.size(), "[trace] wrong number of names: got {} for {} inputs",
      int64_t(names.size()), int64_t(inputs.size()));
  auto copy = [this](const TensorHandle& x) {
    const CastTo attrs{x.dtype()};
    const TensorHandle* in = &x;
    TensorHandle out = make_tensor(x.device(), x.dtype(), contiguous_layout(x.shape()));
    run(*inner_, {&op::cast, &attrs}, {&in, 1}, {&out, 1});
    return out;
  };
  auto recorder = std::make_unique<Recorder>(keeps_values_ ? Recorder::Snapshot(copy) : Recorder::Snapshot());
  for (size_t i = 0; i < inputs.size(); ++i) recorder->add_input(inputs[i], names.empty() ? "" : std::move(names[i]));
  recorder_ = std::move(recorder);
}

Recorder& Trace::recorder() const {
  require<CaptureError>(bool(recorder_), "[trace] this device is not recording");
  return *recorder_;
}

void Trace::name_constant(const TensorHandle& x, std::string name) {
  std::lock_guard lock(mutex_);
  recorder().name_constant(x, std::move(name));
}

Ref<Graph> Trace::finish(std::span<const TensorHandle> outputs, std::vector<std::string> names) {
  std::lock_guard lock(mutex_);
  Ref<Graph> graph = recorder().finish(outputs, std::move(names));
  recorder_.reset();
  return graph;
}

void Trace::cancel() {
  std::lock_guard lock(mutex_);
  recorder_.reset();
}

void Trace::execute(OpRef op, Inputs in, Outputs out) {
  std::lock_guard lock(mutex_);  // program order is the order of this lock
  if (!recorder_) return run(*inner_, op, in, out);
  const Recorder::Pending pending = recorder_->before(op, in, out);
  run(*inner_, op, in, out);
  recorder_->after(op, pending, out);
}

void Trace::download(const TensorHandle& from, const HostArray& to) {
  if (keeps_values_) return inner_->download(from, to);
  {
    std::lock_guard lock(mutex_);
    require<CaptureError>(from.storage()->has_values && !(recorder_ && recorder_->is_stale(from)),
        "[read] the values of this tensor are not known while capturing: got {} {}", from.dtype(), from.shape());
  }
  from.storage()->owner->download(from, to);  // a constant: its values are those it has outside
}

Recording::Recording(Trace& trace, std::span<const TensorHandle> inputs, std::vector<std::string> names) : trace_(trace), scope_(trace) {
  trace.start(inputs, std::move(names));
}

void register_trace_backend() {
  register_backend({.name = "trace",
      .doc = "Runs operations on another backend and records them as a graph.",
      .decorator = true,
      .make = [](std::span<const Ref<Backend>> inner, std::string_view options) {
        require_no_options("trace", options);
        require<DeviceError>(inner.size() == 1, "[device] trace wraps one backend: write trace(ndarray)");
        return Ref<Backend>(new Trace(inner[0]));
      }});
}

}  // namespace pyburn
