#include "pyburn/support/patient_lock.h"

namespace pyburn {

void (*while_waiting)(void (*wait)(void*), void*) = [](void (*wait)(void*), void* on) { wait(on); };

}  // namespace pyburn
