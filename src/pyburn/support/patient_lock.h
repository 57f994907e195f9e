// Waiting for a lock that another thread may hold for a long time.
#pragma once
#include <mutex>

#include "pyburn/support/fork_safe_mutex.h"

namespace pyburn {

// Calls wait(on). Set by the bindings to release Python's lock meanwhile: the other thread may need it.
extern void (*while_waiting)(void (*wait)(void* on), void* on);

// Calls work(on) while no other thread computes with the object. Set by the bindings, whose threads say what they compute with.
extern void (*while_unused)(const void* object, void (*work)(void* on), void* on);

class PatientLock {
 public:
  explicit PatientLock(ForkSafeMutex& mutex) : lock_(mutex, std::try_to_lock) {
    if (!lock_) while_waiting([](void* lock) { static_cast<std::unique_lock<ForkSafeMutex>*>(lock)->lock(); }, &lock_);
  }

 private:
  std::unique_lock<ForkSafeMutex> lock_;
};

}  // namespace pyburn
