#include "pyburn/inference/step_recording.h"

#include <algorithm>
#include <optional>

#include "pyburn/decorators/autodiff/autodiff.h"
#include "pyburn/decorators/autodiff/autograd.h"
#include "pyburn/decorators/autodiff/history.h"
#include "pyburn/decorators/trace/recorder.h"
#include "pyburn/ir/random_state.h"
#include "pyburn/runtime/decorator.h"
#include "pyburn/runtime/run.h"
#include "pyburn/runtime/run_observer.h"
#include "pyburn/runtime/transfer.h"
#include "pyburn/support/interrupt.h"

namespace pyburn {
namespace {

Ref<Backend> below_autodiff(Device& device) {
  Backend& top = device.backend();
  const bool is_autodiff = dynamic_cast<Autodiff*>(&top) != nullptr;
  return Ref<Backend>(is_autodiff ? top.inner() : &top);
}

Device* other_device(Device& device, Inputs in, Outputs out) {
  for (const TensorHandle* t : in)
    if (t->defined() && &t->device() != &device) return &t->device();
  for (const TensorHandle& t : out)
    if (t.defined() && &t.device() != &device) return &t.device();
  return nullptr;
}

// Notes what passes. An operation that cannot be noted runs all the same, and ends the noting.
class StepTrace final : public Decorator {
 public:
  StepTrace(Device& device, Recorder& recorder, StepRecording::Caller caller)
      : Decorator(below_autodiff(device)), device_(device), recorder_(&recorder), caller_(std::move(caller)) {}
  std::function<void(const TensorHandle& constant)> met;  // called when an operation uses it for the first time
  void stop() {
    recorder_ = nullptr;
    caller_ = {};
  }

  void execute(OpRef op, Inputs in, Outputs out) override {
    if (Device* other = other_device(device_, in, out)) {
      if (refusal.empty()) refusal = format("it computes on {} and on {}", device_.name(), other->name());
      recorder_ = nullptr;
      return run(*below_autodiff(*other), op, in, out);
    }
    if (!recorder_) return run(*inner_, op, in, out);
    Recorder::Pending pending;
    note([&] { pending = recorder_->before(op, in, out); });
    while (recorder_ && met_ < recorder_->constants().size()) met(recorder_->constants()[met_++]);
    run(*inner_, op, in, out);
    note([&] { recorder_->after(op, pending, out); });
    if (!recorder_) return;
    if (op.info->kind == Kind::dynamic && refusal.empty())
      refusal = format("the size of the result of {} depends on values", op.info->function());
    if (op.info->kind == Kind::update) ++updates;
    if (caller_ && int64_t(lines.size()) < recorder_->nodes()) lines.resize(size_t(recorder_->nodes()), caller_());
    for (const TensorHandle& t : out) made_ += t.storage()->bytes;
    if (made_ >= kSweep || recorder_->nodes() % 64 == 0) {
      recorder_->forget_unused();
      made_ = 0;
    }
  }
  void download(const TensorHandle& from, const HostArray& to) override { below_autodiff(from.device())->download(from, to); }
  std::string name() const override { return "recording(" + inner_->name() + ")"; }

  std::string refusal;
  int64_t updates = 0;
  std::vector<std::string> lines;

 private:
  static constexpr int64_t kSweep = 1 << 20;  // bytes of results until those that are not used any more are looked for
  template <class Note>
  void note(Note note) {
    if (!recorder_) return;
    try {
      note();
    } catch (const CaptureError& e) {
      if (refusal.empty()) refusal = e.what();
      recorder_ = nullptr;
    }
  }
  Device& device_;
  Recorder* recorder_;
  size_t met_ = 0;
  int64_t made_ = 0;
  StepRecording::Caller caller_;
};

// Attributes as they are compared: random streams count from the start of the step.
Operation normal_form(const GraphNode& node, const std::vector<StepDraws>& draws) {
  const std::optional<SeedAndOffset> state = random_state_of(node.op.ref());
  if (!state) return node.op;
  for (size_t i = 0; i < draws.size(); ++i) {
    const uint64_t from = uint64_t(state->offset) - draws[i].start.offset;
    if (uint64_t(state->seed) == draws[i].start.seed && from < draws[i].counters)
      return with_random_state(node.op, {-1 - int64_t(i), int64_t(from)});
  }
  return node.op;
}

std::string difference_of_nodes(const RecordedStep& a, const RecordedStep& b, size_t i) {
  const GraphNode &x = a.graph->nodes[i], &y = b.graph->nodes[i];
  const std::string place = i < b.lines.size() && !b.lines[i].empty() ? format(" ({})", b.lines[i]) : "";
  if (&x.op.info() != &y.op.info())
    return format("operation {} is {} in one call and {} in another{}", int64_t(i), x.op.info().name(), y.op.info().name(), place);
  if (!(x.in == y.in) || !(x.out == y.out) || x.writes != y.writes)
    return format("operation {}, {}, works on other tensors in another call{}", int64_t(i), x.op.info().name(), place);
  if (x.op.info().kind == Kind::update) return {};
  const Operation p = normal_form(x, a.draws), q = normal_form(y, b.draws);
  return p == q ? ""
                : format("the arguments of operation {} change from call to call: {}, then {}{}", int64_t(i), to_text(x.op.ref()),
                      to_text(y.op.ref()), place);
}

bool same_elements(const TensorHandle& a, const TensorHandle& b) {
  constexpr int64_t kMost = 1 << 22;  // bytes
  if (!(a.meta() == b.meta()) || bytes_of(a.dtype(), a.numel()) > kMost) return false;
  return host_bytes(a) == host_bytes(b);
}

// Empty, or what differs. The same memory, the gradient of the same leaf, or created again with the same elements.
std::string difference_of_state(const RecordedStep& a, const RecordedStep& b, size_t i) {
  const StepState &x = a.state[i], &y = b.state[i];
  if (!(x.layout == y.layout) || x.tensor.dtype() != y.tensor.dtype() || x.requires_grad != y.requires_grad ||
      x.gradient_of != y.gradient_of)
    return format("a tensor of shape {} that it uses has other properties in another call", x.layout.shape);
  if (x.gradient_of >= 0 || x.storage == y.storage) return {};
  return same_elements(x.tensor, y.tensor) ? "" : format("a tensor of shape {} that it uses is another one in each call", x.layout.shape);
}

// Dtype and layout of a tensor that each run looks up.
TensorHandle placeholder(const TensorHandle& t) {
  Storage& s = *t.storage();
  return make_tensor(t.device(), t.dtype(), t.layout(), Ref<Storage>(new Storage(s.owner, s.bytes, nullptr, false)));
}

// The gradients of a call are not kept alive by its recording.
void release_gradients(RecordedStep& step) {
  for (StepLeaf& l : step.leaves) l.before = {};
  for (size_t i = 0; i < step.state.size(); ++i) {
    StepState& s = step.state[i];
    if (s.gradient_of < 0) continue;
    step.graph->constants[i].second = s.tensor = placeholder(s.tensor);
    s.storage = nullptr;
  }
}

}  // namespace

StepModes StepModes::now() { return {autograd::modes().grad, autograd::modes().inference, autocast_mode()}; }
bool StepModes::operator==(const StepModes& o) const {
  const bool same_autocast = autocast.enabled == o.autocast.enabled && (!autocast.enabled || autocast.dtype == o.autocast.dtype);
  return grad == o.grad && inference == o.inference && same_autocast;
}

class StepRecording::Body final : public RunObserver {
 public:
  Body(Device& device, std::span<const TensorHandle> inputs, Caller caller)
      : device_(device),
        recorder_({}),
        trace_(new StepTrace(device, recorder_, caller)),
        autodiff_(new Autodiff(trace_)),
        step_(make_ref<RecordedStep>()),
        caller_(std::move(caller)) {
    step_->device = &device;
    step_->modes = StepModes::now();
    for (size_t i = 0; i < inputs.size(); ++i) recorder_.add_input(inputs[i], "input" + std::to_string(i));
    for (const TensorHandle& t : inputs)
      if (t.requires_grad()) refuse("an argument requires a gradient");
    inputs_.assign(inputs.begin(), inputs.end());
    for (const TensorHandle& t : inputs) step_->inputs.push_back(t.layout());
    trace_->met = [this](const TensorHandle& t) {
      if (!t.requires_grad()) return;
      if (!autograd::is_leaf(t)) return refuse("it uses a tensor with a history from outside of the step");
      if (has_hooks(t)) return refuse("a parameter has hooks, which are called in each backward pass");
      meet(t);
    };
    level_.emplace(*autodiff_);
    scope_.emplace(*this);
  }
  ~Body() { end(); }

  void end() {
    scope_.reset();
    level_.reset();
    trace_->stop();
  }

  void values_read(const TensorHandle& x) override {
    refuse(format("the value of a tensor of shape {} is read{}", x.shape(), caller_ ? " at " + caller_() : ""));
  }
  void numbers_reserved(Generator& generator, RandomState start, uint64_t counters) override {
    const bool is_default = &generator == &default_generator();
    for (StepDraws& d : step_->draws) {
      if (is_default ? bool(d.generator) : d.generator.get() != &generator) continue;
      if (d.start.seed != start.seed || d.start.offset + d.counters != start.offset)
        return refuse("it seeds a generator of random numbers");
      d.counters += counters;
      return;
    }
    step_->draws.push_back({is_default ? Ref<Generator>() : Ref<Generator>(&generator), start, counters});
  }
  void gradient_replaced(const TensorHandle& leaf) override { meet(leaf); }
  void backward_ran() override { has_backward_ = true; }
  bool keeps(const Storage& s) const override { return recorder_.holds(s); }
  bool is_top(const Backend& level) const override { return &level == autodiff_.get(); }

  void refuse(std::string why) {
    if (trace_->refusal.empty()) trace_->refusal = std::move(why);
  }
  int64_t updates() const { return trace_->updates; }
  const std::string& reason() const { return trace_->refusal; }

  Ref<RecordedStep> finish(std::span<const TensorHandle> results) {
    end();
    for (const TensorHandle& t : inputs_)
      if (t.requires_grad()) refuse("an argument requires a gradient");
    for (const TensorHandle& t : results)
      if (!has_backward_ && autograd::wants_gradient(t)) refuse("a result requires a gradient, which is computed outside of the step");
    if (share_numbers()) refuse("two generators of random numbers have the same seed");
    if (!reason().empty()) return nullptr;
    std::vector<TensorHandle> outputs(results.begin(), results.end());
    step_->results = int64_t(outputs.size());
    for (StepLeaf& l : step_->leaves) {
      const TensorHandle now = autograd::grad_of(l.leaf);
      const bool kept = now.defined() == l.before.defined() && (!now.defined() || now.is_same(l.before));
      l.after = kept ? StepLeaf::After::kept : now.defined() ? StepLeaf::After::made : StepLeaf::After::cleared;
      if (l.after == StepLeaf::After::made) outputs.push_back(now);
    }
    try {
      step_->graph = recorder_.finish(outputs, {});
    } catch (const Interrupted&) {
      throw;
    } catch (const Error& e) {
      refuse(e.what());
      return nullptr;
    }
    step_->lines = std::move(trace_->lines);
    for (const TensorHandle& t : recorder_.constants()) step_->state.push_back(state_of(t));
    release_gradients(*step_);
    return step_;
  }

 private:
  // Then the numbers of an operation do not tell which generator they are from.
  bool share_numbers() const {
    for (const StepDraws& a : step_->draws)
      for (const StepDraws& b : step_->draws)
        if (&a != &b && a.start.seed == b.start.seed) return true;
    return false;
  }

  void meet(const TensorHandle& leaf) {
    for (const StepLeaf& l : step_->leaves)
      if (l.leaf.is_same(leaf)) return;
    const TensorHandle gradient = autograd::grad_of(leaf);
    step_->leaves.push_back({leaf, gradient, gradient.defined()});
  }
  StepState state_of(const TensorHandle& t) const {
    StepState s{t, t.impl()->storage, t.layout(), t.requires_grad(), -1};
    for (size_t i = 0; i < step_->leaves.size(); ++i) {
      const TensorHandle& g = step_->leaves[i].before;
      if (g.defined() && g.storage() == t.storage() && g.layout() == t.layout() && g.dtype() == t.dtype()) s.gradient_of = int32_t(i);
    }
    return s;
  }

  Device& device_;
  Recorder recorder_;
  Ref<StepTrace> trace_;
  Ref<Autodiff> autodiff_;
  Ref<RecordedStep> step_;
  StepRecording::Caller caller_;
  std::vector<TensorHandle> inputs_;
  bool has_backward_ = false;
  std::optional<LevelScope> level_;
  std::optional<ObserverScope> scope_;
};

bool has_hooks(const TensorHandle& leaf) {
  const autograd::History* h = autograd::history_of(leaf);
  return h && h->hooks && !h->hooks->empty();
}

std::string difference(const RecordedStep& a, const RecordedStep& b) {
  const Graph &x = *a.graph, &y = *b.graph;
  const size_t shared = std::min(x.nodes.size(), y.nodes.size());
  for (size_t i = 0; i < shared; ++i)
    if (std::string what = difference_of_nodes(a, b, i); !what.empty()) return what;
  if (x.nodes.size() != y.nodes.size())
    return format("it has {} operations in one call and {} in another", int64_t(x.nodes.size()), int64_t(y.nodes.size()));
  if (a.state.size() != b.state.size() || a.leaves.size() != b.leaves.size() || a.draws.size() != b.draws.size() ||
      a.results != b.results || x.outputs != y.outputs || x.values != y.values)
    return "it uses or returns other tensors in another call";
  for (size_t i = 0; i < a.leaves.size(); ++i)
    if (!a.leaves[i].leaf.is_same(b.leaves[i].leaf) || a.leaves[i].after != b.leaves[i].after ||
        a.leaves[i].had_gradient != b.leaves[i].had_gradient)
      return "it finds or leaves other gradients in another call";
  for (size_t i = 0; i < a.draws.size(); ++i)
    if (!(a.draws[i].generator == b.draws[i].generator) || a.draws[i].counters != b.draws[i].counters)
      return "it draws from other generators in another call";
  for (size_t i = 0; i < a.state.size(); ++i) {
    if (x.constants[i].first != y.constants[i].first) return "it uses other tensors in another call";
    if (std::string what = difference_of_state(a, b, i); !what.empty()) return what;
  }
  return a.modes == b.modes ? "" : "it runs in another mode in another call";
}

StepRecording::StepRecording(Device& device, std::span<const TensorHandle> inputs, Caller caller)
    : body_(std::make_unique<Body>(device, inputs, std::move(caller))) {}
StepRecording::~StepRecording() = default;
void StepRecording::refuse(std::string why) { body_->refuse(std::move(why)); }
int64_t StepRecording::optimizer_steps() const { return body_->updates(); }
Ref<RecordedStep> StepRecording::finish(std::span<const TensorHandle> results) { return body_->finish(results); }
const std::string& StepRecording::reason() const { return body_->reason(); }

}  // namespace pyburn
