#include "pyburn/runtime/generator.h"

#include <random>
#include <utility>

#include "pyburn/runtime/run_observer.h"

namespace pyburn {

RandomState Generator::reserve(int64_t numbers) {
  const uint64_t counters = uint64_t(numbers + 3) / 4;
  RandomState start;
  {
    std::lock_guard lock(mutex_);
    start = state_;
    state_.offset += counters;
  }
  if (RunObserver* observer = run_observer()) observer->numbers_reserved(*this, start, counters);
  return start;
}
void Generator::manual_seed(uint64_t seed) { set_state({seed, 0}); }
RandomState Generator::state() const {
  std::lock_guard lock(mutex_);
  return state_;
}
void Generator::set_state(RandomState s) {
  std::lock_guard lock(mutex_);
  state_ = s;
}

namespace {
thread_local Ref<Generator> of_this_thread;
}

Generator& default_generator() {
  static auto* g = new Generator;
  return of_this_thread ? *of_this_thread : *g;
}

Ref<Generator> use_generator(Ref<Generator> generator) { return std::exchange(of_this_thread, std::move(generator)); }

uint64_t entropy() {
  std::random_device device;
  return uint64_t(device()) << 32 | device();
}

}  // namespace pyburn
