#include "pyburn/decorators/trace/trace.h"

#include "pyburn/runtime/device_identity.h"
#include "pyburn/runtime/door_ops.h"

namespace pyburn {

Trace::Trace(Ref<Backend> inner) : Decorator(std::move(inner)), keeps_values_(inner_->capabilities().values) {}

void Trace::start(std::span<const TensorHandle> inputs, std::vector<std::string> names, bool is_inside) {
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
  auto recorder = std::make_unique<Recorder>(keeps_values_ ? Recorder::Snapshot(copy) : Recorder::Snapshot(), is_inside);
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
  if (!is_known(op, in, out) || !compute(op, in, out)) run(*inner_, op, in, out);
  recorder_->after(op, pending, out);
}

// Without values of its own, the recording still knows small integers that follow from constants and from shapes: sizes are computed so.
bool Trace::is_known(OpRef op, Inputs in, Outputs out) const {
  constexpr int64_t kMostElements = 64;
  const Kind kind = op.info->kind;
  if (keeps_values_ || in.empty() || kind == Kind::random || kind == Kind::dynamic || kind == Kind::view || kind == Kind::update)
    return false;
  for (const TensorHandle* t : in)
    if (t->defined() && !(t->storage()->has_values && is_integral(t->dtype()) && t->numel() <= kMostElements && !recorder_->is_stale(*t)))
      return false;
  for (const TensorHandle& t : out)
    if (!t.defined() || t.storage() || !is_integral(t.dtype()) || t.numel() > kMostElements) return false;
  return true;
}

// On the leaf that holds the inputs. False where it has no kernel.
bool Trace::compute(OpRef op, Inputs in, Outputs out) const {
  Backend* owner = nullptr;
  for (const TensorHandle* t : in)
    if (t->defined()) owner = t->storage()->owner;
  if (!owner || owner->inner() || !owner->supports(op, in, out)) return false;
  run(*owner, op, in, out);
  return true;
}

bool Trace::knows_values_of(const TensorHandle& x) {
  std::lock_guard lock(mutex_);
  return x.storage()->has_values && !(recorder_ && recorder_->is_stale(x));
}

void Trace::download(const TensorHandle& from, const HostArray& to) {
  if (keeps_values_) return inner_->download(from, to);
  require<CaptureError>(
      knows_values_of(from), "[read] the values of this tensor are not known while capturing: got {} {}", from.dtype(), from.shape());
  from.storage()->owner->download(from, to);  // a constant: its values are those it has outside
}

Recording::Recording(Trace& trace, std::span<const TensorHandle> inputs, std::vector<std::string> names, bool is_inside)
    : trace_(trace), scope_(trace) {
  trace.start(inputs, std::move(names), is_inside);
}

bool is_capturing() {
  const auto* trace = dynamic_cast<const Trace*>(current_level());
  return trace && !trace->keeps_values();
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
