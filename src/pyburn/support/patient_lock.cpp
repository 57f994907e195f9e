#include "pyburn/support/patient_lock.h"

namespace pyburn {

void (*while_waiting)(void (*wait)(void*), void*) = [](void (*wait)(void*), void* on) { wait(on); };
void (*while_unused)(const void*, void (*work)(void*), void*) = [](const void*, void (*work)(void*), void* on) { work(on); };

}  // namespace pyburn
