#include "pyburn/support/fault.h"

namespace pyburn {

Fault planted_fault = Fault::none;

}  // namespace pyburn
