// Random programs of views, writes and operations, with gradients, must mean the same on every device as in a naive
// reference interpreter. `aliasing_fuzzer --help` tells the options.
#include <cstdio>
#include <string_view>

#include "device_run.h"
#include "harness/options.h"
#include "pyburn/decorators/fusion/fusion.h"
#include "pyburn/start.h"
#include "pyburn/support/error.h"
#include "pyburn/support/fault.h"

using namespace pyburn;
using namespace pyburn::fuzz;

namespace {

constexpr const char* kHelp = R"(usage: aliasing_fuzzer [options]
  --programs N       how many programs to run (10000)
  --seed S           the seed of the first program; the next ones follow (1)
  --devices A,B      devices to run on; those not registered in this build are left out (cpu,fusion(cpu))
  --plant FAULT      plant a bug and succeed only when it is found:
                     missing_version_bump, missing_flush, missing_overlap_copy
  --dump             print the programs as JSON, one array per program, without running them
  --no-random        programs without random numbers
)";

struct Settings {
  int64_t programs = 10000;
  uint64_t seed = 1;
  std::string devices = "cpu,fusion(cpu)";
  Fault fault = Fault::none;
  bool dump = false;
  GeneratorOptions generator;
};

Settings parse(int argc, char** argv) {
  Settings o;
  Options options(kHelp);
  options.add("--programs", o.programs), options.add("--seed", o.seed), options.add("--devices", o.devices);
  options.add("--plant", [&](const char* name) { o.fault = fault_named(name); });
  options.add("--dump", o.dump), options.add("--no-random", o.generator.random_numbers, false);
  const std::vector<std::string> rest = options.parse(argc, argv);
  require<ValueError>(rest.empty(), "expected options only: got {}; see --help", rest.empty() ? "" : rest[0]);
  return o;
}

// Fusion passes small work straight through; here all work is small and must be queued.
void queue_everything(Device& device) {
  for (Backend* b = &device.backend(); b; b = b->inner())
    if (auto* fusion = dynamic_cast<Fusion*>(b)) fusion->set_small_limit(0);
}

std::vector<Device*> devices_of(const std::string& list) {
  std::vector<Device*> devices;
  for (size_t begin = 0; begin < list.size();) {
    const size_t end = std::min(list.find(',', begin), list.size());
    const std::string name = list.substr(begin, end - begin);
    try {
      devices.push_back(&device(name));
      queue_everything(*devices.back());
    } catch (const DeviceError& e) {
      std::printf("%s is left out: %s\n", name.c_str(), e.what());
    }
    begin = end + 1;
  }
  require<ValueError>(!devices.empty(), "no device to run on: got {}", list);
  return devices;
}

void dump(const Settings& o) {
  std::printf("[");
  for (int64_t k = 0; k < o.programs; ++k)
    std::printf("%s%s", k ? ",\n" : "", to_json(generate(o.seed + uint64_t(k), o.generator)).c_str());
  std::printf("]\n");
}

int run(const Settings& o) {
  const std::vector<Device*> devices = devices_of(o.devices);
  planted_fault = o.fault;
  for (int64_t k = 0; k < o.programs; ++k) {
    const uint64_t seed = o.seed + uint64_t(k);
    const Program program = generate(seed, o.generator);
    for (Device* device : devices) {
      if (compare(program, *device).empty()) continue;
      const Program small = minimised(program, *device);
      std::printf("program %llu differs on %s: %s\n%s\n", static_cast<unsigned long long>(seed), device->name().c_str(),
          compare(small, *device).c_str(), to_json(small).c_str());
      if (o.fault == Fault::none) return 1;
      std::printf("the planted bug was found after %lld programs\n", static_cast<long long>(k + 1));
      return 0;
    }
  }
  std::printf("%lld programs, no difference\n", static_cast<long long>(o.programs));
  return o.fault == Fault::none ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    const Settings settings = parse(argc, argv);
    start();
    if (settings.dump) return dump(settings), 0;
    return run(settings);
  } catch (const std::exception& e) {
    std::fprintf(stderr, "%s\n", e.what());
    return 2;
  }
}
