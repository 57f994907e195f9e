// A fuzz target: valid inputs to start from, how to mutate one, and what to do with it. One executable has one target. driver.cpp runs it
// in a seeded loop; in a build with clang (CMake preset `fuzz`) libFuzzer runs it through entry_points.cpp.
#pragma once
#include "pyburn/ir/wire.h"
#include "random.h"

namespace pyburn::fuzz {

enum class Outcome : uint8_t { accepted, refused };

struct Target {
  const char* name;
  std::vector<Bytes> (*seeds)();  // valid inputs, made by this build
  void (*mutate)(Bytes& input, Random& random, const std::vector<Bytes>& seeds);
  Outcome (*run)(BytesView input);  // throws what() went wrong: a finding
};
extern const Target target;

constexpr size_t kMostInputBytes = 1 << 20;

}  // namespace pyburn::fuzz

extern "C" {
int LLVMFuzzerInitialize(int* argc, char*** argv);
int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);  // -1: refused
size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t most, unsigned int seed);
}
