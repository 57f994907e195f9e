// "late": a leaf that behaves as a GPU does, for tests of the seam. Operations run on a thread of its own, after execute() has returned;
// its memory cannot be read by the host; it has no float64; an operation may bind eight tensors; and it fails when told to:
//   late:fail=log   the operation `log` fails while it runs
//   late:lose=log   the device is lost when it runs `log`
// The arithmetic is the CPU's.
#include <algorithm>
#include <condition_variable>
#include <cstring>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>

#include "pyburn/backends/cpu/cpu_backend.h"
#include "pyburn/ops/fused.h"
#include "pyburn/plugin.h"
#include "pyburn/runtime/run.h"
#include "pyburn/runtime/spoiled.h"
#include "pyburn/support/error.h"
#include "pyburn/support/patient_lock.h"

using namespace pyburn;

namespace {

constexpr size_t kMostBindings = 8;

// A thread that does one thing after the other.
class Worker {
 public:
  Worker() : thread_([this] { work(); }) { thread_.detach(); }  // backends live as long as the process

  void add(std::function<void()> task) {
    std::lock_guard lock(mutex_);
    tasks_.push_back(std::move(task));
    wake_.notify_one();
  }
  void wait_for_all() {
    bool done = false;  // guarded by the mutex
    add([&] {
      std::lock_guard lock(mutex_);
      done = true;
      finished_.notify_all();
    });
    auto wait = [&] {
      std::unique_lock lock(mutex_);
      finished_.wait(lock, [&] { return done; });
    };
    while_waiting([](void* on) { (*static_cast<decltype(wait)*>(on))(); }, &wait);
  }

 private:
  void work() {
    for (;;) {
      std::function<void()> task;
      {
        std::unique_lock lock(mutex_);
        wake_.wait(lock, [&] { return !tasks_.empty(); });
        task = std::move(tasks_.front());
        tasks_.pop_front();
      }
      task();
    }
  }

  std::mutex mutex_;
  std::condition_variable wake_, finished_;
  std::deque<std::function<void()>> tasks_;
  std::thread thread_;
};

// Memory that only the worker touches: `host` stays null.
class LateStorage final : public Storage {
 public:
  LateStorage(Backend* owner, Ref<Storage> memory) : Storage(owner, memory->bytes), memory(std::move(memory)) {}
  const Ref<Storage> memory;
};

class LateLeaf final : public Backend {
 public:
  LateLeaf(std::string options, std::string failing, std::string losing)
      : options_(std::move(options)), failing_(std::move(failing)), losing_(std::move(losing)) {}

  std::string name() const override { return options_.empty() ? "late" : "late:" + options_; }
  Capabilities capabilities() const override { return {.asynchronous = true, .dtypes = DTypeSet::all().without(DType::float64)}; }

  KernelSupport support(const OpInfo& op, DType key) const override {
    if (key == DType::float64) return KernelSupport::none;
    return cpu_.support(op, key) == KernelSupport::native ? KernelSupport::depends : KernelSupport::none;
  }
  bool supports_call(OpRef op, Inputs in, Outputs out) const override {
    return in.size() + out.size() <= kMostBindings && !fails_inside(op);
  }

  Ref<Storage> allocate(DType dtype, int64_t elements) override {
    require_dtype(*this, dtype);
    if (lost.is_set()) std::rethrow_exception(lost.get());
    return Ref<Storage>(new LateStorage(this, cpu_.allocate(dtype, elements)));
  }

  void execute(OpRef op, Inputs in, Outputs out) override {
    if (op.info->kind == Kind::dynamic) return execute_dynamic(op, in, out);
    auto call = std::make_shared<Call>();
    call->op = Operation(op);
    for (const TensorHandle* t : in) call->in.push_back(*t);
    for (const TensorHandle& t : out) call->out.push_back(alias(t, t.layout()));
    worker_.add([this, call] { run_late(*call); });
  }

  void upload(const HostArray& from, const TensorHandle& to) override {
    auto data = std::make_shared<std::vector<std::byte>>(size_t(from.bytes()));
    if (!data->empty()) std::memcpy(data->data(), from.data, data->size());
    worker_.add([this, data, meta = from.meta, to] {
      cpu_.upload({data->data(), meta}, on_cpu(to));
      to.storage()->error.set(nullptr);
    });
  }
  void download(const TensorHandle& from, const HostArray& to) override {
    worker_.wait_for_all();
    cpu_.download(on_cpu(from), to);
  }
  void synchronize() override {
    worker_.wait_for_all();
    if (lost.is_set()) std::rethrow_exception(lost.get());
  }
  MemoryStatistics memory() const override { return cpu_.memory(); }

 private:
  struct Call {
    Operation op;
    Tensors in, out;
  };

  TensorHandle on_cpu(const TensorHandle& t) const {
    if (!t.defined()) return {};
    return make_tensor(cpu_device_, t.dtype(), t.layout(), static_cast<LateStorage&>(*t.storage()).memory);
  }

  void run_late(Call& call) {
    InputList given;
    given.add(call.in);
    const Outputs out{call.out.data(), size_t(call.out.size())};
    std::exception_ptr error = inherited_error(call.op.info(), given, out);
    if (!error) try {
        run_on_cpu(call);
      } catch (Error& e) {
        e.prefix(call.op.info().function());
        error = std::current_exception();
      } catch (...) {
        error = std::current_exception();
      }
    settle(out, error);
  }

  // A run that contains the operation is taken apart, so that only what depends on its result fails.
  bool fails_inside(OpRef op) const {
    if (op.info != &op::fused) return false;
    const std::vector<GraphNode>& nodes = op.as<Fused>().body->nodes;
    return std::any_of(nodes.begin(), nodes.end(), [&](const GraphNode& n) {
      const std::string_view name = n.op.info().name();
      return name == failing_ || name == losing_;
    });
  }

  void run_on_cpu(Call& call) {
    const std::string_view name = call.op.info().name();
    if (name == losing_) {
      lost.set(std::make_exception_ptr(DeviceError("[device] the device was lost: " + this->name())));
      std::rethrow_exception(lost.get());
    }
    require<OutOfMemoryError>(name != failing_, "failed late, as it was told to");
    Tensors inputs, outputs;
    InputList list;
    for (const TensorHandle& t : call.in) inputs.push_back(on_cpu(t));
    list.add(inputs);
    for (const TensorHandle& t : call.out) {
      outputs.push_back(on_cpu(t));
      outputs.back().storage()->note_write();  // the CPU's caches look at its own storage
    }
    cpu_.execute(call.op.ref(), list, {outputs.data(), size_t(outputs.size())});
  }

  // The size of the result is not known before the values are: everything before it has to be done.
  void execute_dynamic(OpRef op, Inputs in, Outputs out) {
    synchronize();
    for (const TensorHandle* t : in)
      if (t->defined()) raise_if_spoiled(*t->storage());
    Tensors inputs, results(int64_t(out.size()), {});
    InputList list;
    for (const TensorHandle* t : in) inputs.push_back(on_cpu(*t));
    list.add(inputs);
    cpu_.execute(op, list, {results.data(), size_t(results.size())});
    for (size_t i = 0; i < out.size(); ++i) {
      const TensorHandle& r = results[int64_t(i)];
      out[i] = make_tensor(in[0]->device(), r.dtype(), r.layout(), Ref<Storage>(new LateStorage(this, r.impl()->storage)));
    }
  }

  cpu::CpuBackend& cpu_ = cpu::cpu_backend();
  Device& cpu_device_ = device_of(Ref<Backend>(&cpu_));
  const std::string options_, failing_, losing_;
  Worker worker_;
};

Ref<Backend> make(std::span<const Ref<Backend>>, std::string_view text) {
  const bool fails = text.starts_with("fail="), loses = text.starts_with("lose=");
  require<DeviceError>(text.empty() || fails || loses, "[late] expected late, late:fail=OPERATION or late:lose=OPERATION: got '{}'", text);
  const std::string operation(text.empty() ? text : text.substr(5));
  return Ref<Backend>(new LateLeaf(std::string(text), fails ? operation : "", loses ? operation : ""));
}

}  // namespace

PYBURN_PLUGIN() {
  register_backend({.name = "late", .doc = "A leaf for tests: asynchronous, without host memory and float64.", .make = make});
}
