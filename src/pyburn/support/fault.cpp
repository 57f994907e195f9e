#include "pyburn/support/fault.h"

#include <algorithm>

#include "pyburn/support/error.h"

namespace pyburn {

Fault planted_fault = Fault::none;

Fault fault_named(std::string_view name) {
  const auto at = std::find(std::begin(kFaultNames), std::end(kFaultNames), name);
  require<ValueError>(at != std::end(kFaultNames), "unknown fault: got {}", name);
  return Fault(at - std::begin(kFaultNames));
}

}  // namespace pyburn
