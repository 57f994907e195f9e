#include "pyburn/start.h"

#include <mutex>

#include "pyburn/backends/cpu/cpu_backend.h"
#include "pyburn/decorators/autodiff/autodiff.h"
#include "pyburn/decorators/fusion/fusion.h"
#include "pyburn/ops/register.h"
#include "pyburn/runtime/device.h"

namespace pyburn {

void start() {
  static std::once_flag once;
  std::call_once(once, [] {
    register_operations(OpTable::global());
    register_backend({.name = "ndarray", .aliases = {"cpu"}, .doc = "The CPU.", .make = [](auto, auto) { return Ref<Backend>(&cpu::cpu_backend()); }});
    register_autodiff();
    register_fusion();
  });
}

}  // namespace pyburn
