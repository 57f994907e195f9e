// The device of a backend that a decorator wraps.
#pragma once
#include <atomic>

#include "pyburn/runtime/device.h"

namespace pyburn {

// Created on first use: devices are permanent, and a stack that is never used should not create one.
class InnerDevice {
 public:
  Device& operator()(const Ref<Backend>& inner) {
    Device* d = known_.load(std::memory_order_acquire);
    if (!d) known_ = d = &device_of(inner);
    return *d;
  }

 private:
  std::atomic<Device*> known_{nullptr};
};

}  // namespace pyburn
