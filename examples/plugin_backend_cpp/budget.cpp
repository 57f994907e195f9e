// "budget:64": the CPU with at most 64 megabytes. A leaf backend has memory of its own and runs operations; this one borrows the CPU's
// kernels, which asks of its storages that they lie in host memory.
#include <atomic>
#include <charconv>
#include <cstdlib>

#include "pyburn/backends/cpu/cpu_backend.h"
#include "pyburn/plugin.h"

using namespace pyburn;

namespace {

constexpr int64_t kMegabyte = 1 << 20;
constexpr size_t kAlignment = 64;

class BudgetBackend final : public Backend {
 public:
  explicit BudgetBackend(int64_t megabytes) : megabytes_(megabytes) {}

  std::string name() const override { return "budget:" + to_text(megabytes_); }
  KernelSupport support(const OpInfo& op, DType key) const override { return kernels_.support(op, key); }
  void execute(OpRef op, Inputs in, Outputs out) override { kernels_.execute(op, in, out); }
  void upload(const HostArray& from, const TensorHandle& to) override { kernels_.upload(from, to); }
  void download(const TensorHandle& from, const HostArray& to) override { kernels_.download(from, to); }

  Ref<Storage> allocate(DType dtype, int64_t elements) override {
    const int64_t bytes = bytes_of(dtype, elements);
    const int64_t in_use = in_use_.fetch_add(bytes) + bytes;
    const bool fits = in_use <= megabytes_ * kMegabyte;
    void* memory = fits ? std::aligned_alloc(kAlignment, (size_t(bytes) / kAlignment + 1) * kAlignment) : nullptr;
    if (!memory) {
      in_use_ -= bytes;
      fail<OutOfMemoryError>("the budget of {} MB is spent: got a request for {} bytes with {} in use", megabytes_, bytes, in_use - bytes);
    }
    for (int64_t peak = peak_; peak < in_use && !peak_.compare_exchange_weak(peak, in_use);) continue;
    return Ref<Storage>(new BudgetStorage(*this, bytes, memory));
  }

  MemoryStatistics memory() const override { return {.in_use = in_use_, .reserved = megabytes_ * kMegabyte, .peak = peak_}; }

 private:
  class BudgetStorage final : public Storage {
   public:
    BudgetStorage(BudgetBackend& owner, int64_t bytes, void* memory) : Storage(&owner, bytes, memory), budget_(owner) {}
    ~BudgetStorage() override {
      std::free(host);
      budget_.in_use_ -= bytes;
    }

   private:
    BudgetBackend& budget_;
  };

  cpu::CpuBackend& kernels_ = cpu::cpu_backend();
  const int64_t megabytes_;
  std::atomic<int64_t> in_use_{0}, peak_{0};
};

Ref<Backend> make(std::span<const Ref<Backend>>, std::string_view text) {
  int64_t megabytes = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), megabytes);
  require<DeviceError>(error == std::errc() && end == text.data() + text.size() && megabytes > 0 && megabytes < (int64_t(1) << 40),
      "[budget] expected a number of megabytes, as in 'budget:64': got '{}'", text);
  return Ref<Backend>(new BudgetBackend(megabytes));
}

}  // namespace

// What pyburn.load_library calls.
PYBURN_PLUGIN() { register_backend({.name = "budget", .doc = "The CPU with a limit on its memory, in megabytes.", .make = make}); }
