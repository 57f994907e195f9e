// "faults:exp=3(ndarray)": every third exp fails, to test what a program does then. A decorator is a backend that holds a backend:
// it looks at an operation, and passes it on.
#include <atomic>
#include <charconv>

#include "pyburn/plugin.h"
#include "pyburn/runtime/run.h"

using namespace pyburn;

namespace {

class Faults final : public Decorator {
 public:
  Faults(Ref<Backend> inner, std::string operation, int64_t period)
      : Decorator(std::move(inner)), operation_(std::move(operation)), period_(period) {}

  // Every level is asked what it is called; pyburn.Device shows the name that was registered.
  std::string name() const override { return "faults(" + inner_->name() + ")"; }

  void execute(OpRef op, Inputs in, Outputs out) override {
    if (op.info->name() == operation_) {
      const int64_t call = ++calls_;  // atomic: several threads may use one device
      require<OutOfMemoryError>(call % period_ != 0, "fault injected into call {} of {}", call, operation_);
    }
    run(*inner_, op, in, out);  // its kernel, or the decomposition where it has none
  }

 private:
  const std::string operation_;
  const int64_t period_;
  std::atomic<int64_t> calls_{0};
};

// `options` is what stands between the colon and the parenthesis; `inner` what stands in the parentheses.
Ref<Backend> make(std::span<const Ref<Backend>> inner, std::string_view options) {
  require<DeviceError>(inner.size() == 1, "[faults] expected one backend, as in 'faults:exp=3(ndarray)': got {}", int64_t(inner.size()));
  const size_t equals = std::min(options.find('='), options.size());
  const std::string_view operation = options.substr(0, equals), digits = options.substr(std::min(equals + 1, options.size()));
  int64_t period = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), period);
  require<DeviceError>(error == std::errc() && end == digits.data() + digits.size() && period > 0,
      "[faults] expected OPERATION=PERIOD, as in 'faults:exp=3(ndarray)': got '{}'", options);
  require<DeviceError>(OpTable::global().find(operation), "[faults] no such operation: got '{}'", operation);
  return make_ref<Faults>(inner[0], std::string(operation), period);
}

}  // namespace

// What pyburn.load_library calls.
PYBURN_PLUGIN() {
  register_backend({.name = "faults", .doc = "Lets every n-th call of an operation fail.", .decorator = true, .make = make});
}
