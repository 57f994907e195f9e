// libFuzzer's functions for the target of this executable. Our own driver calls the same.
#include <cstring>

#include "pyburn/start.h"
#include "target.h"

using namespace pyburn;
using namespace pyburn::fuzz;

namespace {
const std::vector<Bytes>& seeds() {
  static const std::vector<Bytes> made = target.seeds();
  return made;
}
}  // namespace

extern "C" {

int LLVMFuzzerInitialize(int*, char***) {
  start();
  seeds();
  return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  return target.run(std::as_bytes(std::span(data, size))) == Outcome::accepted ? 0 : -1;
}

// Without an input, and now and then with one, starts from a valid input.
size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t most, unsigned int seed) {
  Random random(seed);
  const BytesView given = std::as_bytes(std::span(data, size));
  Bytes input(given.begin(), given.end());
  if (size <= 1 || random.one_in(16)) input = random.any_of(seeds());
  target.mutate(input, random, seeds());
  if (input.size() > most) input.resize(most);
  if (!input.empty()) std::memcpy(data, input.data(), input.size());
  return input.size();
}

}  // extern "C"
