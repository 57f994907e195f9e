#include "pyburn/inference/profile.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <numeric>
#include <unordered_map>

#include "pyburn/graph/multiply_adds.h"
#include "pyburn/ops/fused.h"
#include "pyburn/ops/generated/copy.h"
#include "pyburn/ops/generated/fill.h"
#include "pyburn/ops/generated/matmul.h"
#include "pyburn/runtime/transfer.h"
#include "pyburn/support/error.h"

namespace pyburn {
using namespace fn;
namespace {

using Clock = std::chrono::steady_clock;

template <class Work>
double best_seconds(Work work) {
  double best = 1e30;
  for (int i = 0; i < 5; ++i) {
    const auto start = Clock::now();
    work();
    best = std::min(best, std::chrono::duration<double>(Clock::now() - start).count());
  }
  return best;
}

MachineLimits measure_limits() {
  Device& host = host_device();
  const LevelScope scope(nullptr);
  constexpr int64_t n = 768, bytes = int64_t(64) << 20;
  const TensorHandle a = ones(Dims{n, n}, DType::float32, &host), x = zeros(Dims{bytes}, DType::uint8, &host);
  return {double(n * n * n) / best_seconds([&] { matmul(a, a); }), 2.0 * double(bytes) / best_seconds([&] { clone(x); })};
}

double median(std::vector<double> v) {
  std::nth_element(v.begin(), v.begin() + int64_t(v.size() / 2), v.end());
  return v[v.size() / 2];
}

int64_t cost_of(const LoweredNode& node) {
  if (&node.op.info() == &op::fused) return multiply_adds(*node.op.ref().as<Fused>().body);
  if (!node.op.info().multiply_adds) return 0;
  static const Shape absent{};
  SmallVector<const Shape*, 8> in;
  for (const LoweredOperand& o : node.in) in.push_back(o.slot < 0 ? &absent : &o.layout.shape);
  return node.op.info().multiply_adds({in.data(), size_t(in.size())}, node.out[0].layout.shape);
}

// Stretched axes are read once.
int64_t bytes_of(const LoweredOperand& o) {
  if (o.slot < 0) return 0;
  int64_t elements = 1;
  for (int i = 0; i < o.layout.rank(); ++i)
    if (o.layout.strides[i] != 0) elements *= o.layout.shape[i];
  return pyburn::bytes_of(o.dtype, elements);
}

// Sums the calls of each step in a run. A step is a node of a prepared program, or a node of the graph.
class Recorder final : public StepWatcher {
 public:
  void begin_run() {
    ++run_;
    for (Entry& e : entries_) e.profile.calls.clear(), e.profile.multiply_adds = e.profile.bytes = 0;
  }
  void step(const PreparedProgram& program, size_t index, int64_t start, int64_t end) override {
    const LoweredNode& node = program.program().nodes[index];
    Entry& entry = entry_of(&node, node.op, start);
    for (const LoweredOperand& o : node.in) entry.profile.bytes += bytes_of(o);
    for (const LoweredOperand& o : node.out) entry.profile.bytes += bytes_of(o);
    entry.profile.multiply_adds += cost_of(node);
    add(entry, node.out.empty() ? Shape{} : node.out[0].layout.shape, start, end);
  }
  void step(const GraphNode& node, const Shape& result, int64_t start, int64_t end) override {
    add(entry_of(&node, node.op, start), result, start, end);
  }
  // Those that were met in the last run.
  std::vector<StepProfile> steps(const MachineLimits& limits) {
    std::vector<StepProfile> found;
    for (Entry& e : entries_) {
      StepProfile& s = e.profile;
      if (s.calls.empty()) continue;
      s.seconds = median(e.seconds);
      const double least = std::max(double(s.multiply_adds) / limits.multiply_adds, double(s.bytes) / limits.bytes);
      s.limit_share = s.seconds > 0 ? least / s.seconds : 0;
      found.push_back(std::move(s));
    }
    return found;
  }

 private:
  struct Entry {
    StepProfile profile;
    std::vector<double> seconds;  // per run that met it
    int run = -1;
  };
  Entry& entry_of(const void* step, const Operation& op, int64_t start) {
    const auto [it, fresh] = places_.try_emplace(step, entries_.size());
    if (fresh) entries_.push_back({{.name = name_of(op)}, {}, -1});
    if (started_ != run_) started_ = run_, first_ = start;
    return entries_[it->second];
  }
  void add(Entry& entry, const Shape& shape, int64_t start, int64_t end) {
    if (entry.run != run_) entry.run = run_, entry.seconds.push_back(0);
    entry.seconds.back() += double(end - start) * 1e-9;
    entry.profile.shape = shape;
    entry.profile.calls.emplace_back(start - first_, end - first_);
  }

  std::unordered_map<const void*, size_t> places_;
  std::vector<Entry> entries_;
  int run_ = 0, started_ = -1;
  int64_t first_ = 0;
};

std::string fixed(double v, int digits) {
  char text[64];
  std::snprintf(text, sizeof text, "%.*f", digits, v);
  return text;
}
std::string padded(const std::string& text, size_t width, bool left = false) {
  const std::string gap(text.size() < width ? width - text.size() : 0, ' ');
  return left ? text + gap : gap + text;
}
std::string megabytes(int64_t bytes) { return fixed(double(bytes) / 1e6, 2) + " MB"; }

}  // namespace

const MachineLimits& machine_limits() {
  static const MachineLimits limits = measure_limits();
  return limits;
}

std::string name_of(const Operation& op) {
  if (&op.info() != &op::fused) return std::string(op.info().function());
  std::string text;
  for (const GraphNode& n : op.ref().as<Fused>().body->nodes)
    if (n.op.info().kind != Kind::view) text += (text.empty() ? "" : " + ") + std::string(n.op.info().function());
  return text;
}

Profile profile(Session& session, std::span<const TensorHandle> inputs, int runs) {
  require<ValueError>(runs > 0, "[Session.profile] expected at least one run: got {}", runs);
  require<UnsupportedOp>(session.is_prepared(),
      "[Session.profile] {} has decorators, so that the session runs operation by operation: there are no prepared steps to measure",
      session.device().name());
  const MachineLimits& limits = machine_limits();
  for (int i = 0; i < 3; ++i) session.run(inputs);
  Recorder recorder;
  std::vector<double> whole;
  for (int i = 0; i < runs; ++i) {
    recorder.begin_run();
    const auto start = Clock::now();
    session.run(inputs, &recorder);
    whole.push_back(std::chrono::duration<double>(Clock::now() - start).count());
  }
  return {.steps = recorder.steps(limits), .seconds = median(whole), .runs = runs};
}

std::string to_text(const Profile& p, int rows) {
  std::vector<size_t> order(p.steps.size());
  std::iota(order.begin(), order.end(), size_t(0));
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return p.steps[a].seconds > p.steps[b].seconds; });
  size_t width = 9;
  const size_t shown = std::min(order.size(), size_t(std::max(rows, 0)));
  for (size_t i = 0; i < shown; ++i) width = std::max(width, std::min<size_t>(48, p.steps[order[i]].name.size()));
  std::string text = format("{} steps, {} us per run (median of {})\n", int64_t(p.steps.size()), fixed(p.seconds * 1e6, 1), p.runs);
  text += padded("operation", width, true) + "   step       us  share   GMAC/s  of limit  result\n";
  for (size_t i = 0; i < shown; ++i) {
    const StepProfile& s = p.steps[order[i]];
    std::string name = s.name;
    if (name.size() > width) name = name.substr(0, width - 3) + "...";
    text += padded(name, width, true) + padded(std::to_string(order[i]), 7) + padded(fixed(s.seconds * 1e6, 1), 9) +
            padded(fixed(100 * s.seconds / p.seconds, 1) + "%", 7) +
            padded(s.multiply_adds ? fixed(double(s.multiply_adds) / s.seconds * 1e-9, 1) : "-", 9) +
            padded(fixed(100 * s.limit_share, 0) + "%", 10) + "  " + to_text(s.shape) +
            (s.calls.size() > 1 ? format(", {} calls", int64_t(s.calls.size())) : "") + "\n";
  }
  if (shown < order.size()) text += format("... and {} faster steps\n", int64_t(order.size() - shown));
  return text;
}

std::string chrome_trace(const Profile& p) {
  std::string text = "{\"displayTimeUnit\": \"ns\", \"traceEvents\": [";
  std::string separator = "\n";
  for (size_t i = 0; i < p.steps.size(); ++i) {
    const StepProfile& s = p.steps[i];
    for (const auto& [start, end] : s.calls) {
      text += separator + "{\"name\": \"" + s.name +
              "\", \"cat\": \"step\", \"ph\": \"X\", \"pid\": 1, \"tid\": 1, \"ts\": " + fixed(double(start) * 1e-3, 3) +
              ", \"dur\": " + fixed(double(end - start) * 1e-3, 3) + ", \"args\": {\"step\": " + std::to_string(i) + ", \"shape\": \"" +
              to_text(s.shape) + "\", \"multiply_adds\": " + std::to_string(s.multiply_adds) + ", \"bytes\": " + std::to_string(s.bytes) +
              "}}";
      separator = ",\n";
    }
  }
  return text + "\n]}\n";
}

std::string summary(Session& session, std::span<const TensorHandle> inputs) {
  const std::shared_ptr<PreparedProgram> program = session.prepared(inputs);
  std::string shapes;
  for (const TensorHandle& t : inputs) shapes += (shapes.empty() ? "" : ", ") + to_text(t.shape());
  const std::string head = format("Session on {} for inputs {}\n  operations in the graph  {}\n", session.device().name(), shapes,
      int64_t(session.graph().nodes.size()));
  if (!program) return head + "  runs in parts, because sizes depend on values or the device has decorators";
  const LoweredProgram& p = program->program();
  int64_t fused = 0, constants = 0, cost = 0;
  for (const LoweredNode& n : p.nodes) {
    fused += &n.op.info() == &op::fused;
    cost += cost_of(n);
  }
  for (const LoweredSlot& s : p.slots)
    if (s.role == LoweredSlot::Role::constant) constants += pyburn::bytes_of(s.dtype, s.elements);
  return head + format(
                    "  kernels per run          {}, {} of them fused\n"
                    "  multiply-adds per run    {} million\n  constants                {}\n"
                    "  memory of a run          {} (lower bound {}), outputs not counted",
                    int64_t(p.nodes.size()), fused, fixed(double(cost) / 1e6, 1), megabytes(constants), megabytes(program->memory().bytes),
                    megabytes(program->memory().least));
}

}  // namespace pyburn
