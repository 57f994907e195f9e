#include "pyburn/runtime/generator.h"

#include <random>

namespace pyburn {

RandomState Generator::reserve(int64_t numbers) {
  std::lock_guard lock(mutex_);
  const RandomState start = state_;
  state_.offset += uint64_t(numbers + 3) / 4;
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

Generator& default_generator() {
  static auto* g = new Generator;
  return *g;
}

uint64_t entropy() {
  std::random_device device;
  return uint64_t(device()) << 32 | device();
}

}  // namespace pyburn
