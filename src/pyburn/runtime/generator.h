// Counter-based random numbers (Philox 4x32-10). A (seed, offset) pair is stored in each random operation, so a seed gives the same numbers
// on every backend, queued or not, with any number of threads.
#pragma once
#include <array>
#include <cstdint>

#include "pyburn/support/fork_safe_mutex.h"
#include "pyburn/support/ref.h"

namespace pyburn {

// Four random words for counter `index` of the stream `seed`.
inline std::array<uint32_t, 4> philox(uint64_t seed, uint64_t index) {
  std::array<uint32_t, 4> c = {uint32_t(index), uint32_t(index >> 32), 0, 0};
  uint32_t k0 = uint32_t(seed), k1 = uint32_t(seed >> 32);
  for (int round = 0; round < 10; ++round) {
    const uint64_t a = uint64_t(0xD2511F53) * c[0], b = uint64_t(0xCD9E8D57) * c[2];
    c = {uint32_t(b >> 32) ^ c[1] ^ k0, uint32_t(b), uint32_t(a >> 32) ^ c[3] ^ k1, uint32_t(a)};
    k0 += 0x9E3779B9;
    k1 += 0xBB67AE85;
  }
  return c;
}

struct RandomState {
  uint64_t seed, offset;
};

class Generator : public Counted {
 public:
  explicit Generator(uint64_t seed = 67280421310721u) : state_{seed, 0} {}
  // Reserves counters for `numbers` random words and returns the first.
  RandomState reserve(int64_t numbers);
  void manual_seed(uint64_t seed);
  RandomState state() const;
  void set_state(RandomState);

 private:
  mutable ForkSafeMutex mutex_;
  RandomState state_;
};

// The default generator: the process's own, or one set for this thread.
Generator& default_generator();
// Sets the default generator of this thread (null: the process's own). Returns the previous one.
// Data loaders use one generator per sample, so that neither the number of threads nor their order matters.
Ref<Generator> use_generator(Ref<Generator> generator);
uint64_t entropy();  // a seed from the system

}  // namespace pyburn
