#include "pyburn/start.h"

#include <mutex>

#include "pyburn/backends/cpu/cpu_backend.h"
#include "pyburn/backends/null/null_backend.h"
#include "pyburn/backends/wgpu/wgpu_backend.h"
#include "pyburn/decorators/autodiff/autodiff.h"
#include "pyburn/decorators/fusion/fusion.h"
#include "pyburn/decorators/remote/client.h"
#include "pyburn/decorators/router/router.h"
#include "pyburn/decorators/trace/trace.h"
#include "pyburn/ops/register.h"
#include "pyburn/runtime/device_identity.h"

namespace pyburn {

void start() {
  static std::once_flag once;
  std::call_once(once, [] {
    register_operations(OpTable::global());
    register_backend({.name = "ndarray", .aliases = {"cpu"}, .doc = "The CPU.", .make = [](auto, std::string_view options) {
                        return is_plain("ndarray", options) ? Ref<Backend>(&cpu::cpu_backend()) : make_backend("ndarray");
                      }});
    register_null_backend();
    register_autodiff();
    register_fusion();
    register_trace_backend();
    register_remote_backend();
    register_router_backend();
    register_wgpu_backend();
    set_best_backend([] { return wgpu_is_best() ? "wgpu" : "ndarray"; });
  });
}

}  // namespace pyburn
