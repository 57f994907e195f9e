#include "pyburn/support/adoptable.h"

namespace pyburn {

Adoptable::Host Adoptable::host;

void Adoptable::retain_first() const noexcept { state_.fetch_add(kFreed + kReference, std::memory_order_acq_rel); }

void Adoptable::retain() const noexcept {
  uintptr_t s = state_.load(std::memory_order_acquire);
  while (s & kOwn)
    if (state_.compare_exchange_weak(s, s + kReference, std::memory_order_acq_rel)) return;
  host.retain(reinterpret_cast<void*>(s));
}

void Adoptable::release() const noexcept {
  uintptr_t s = state_.load(std::memory_order_acquire);
  while (s & kOwn) {
    if (!state_.compare_exchange_weak(s, s - kReference, std::memory_order_acq_rel)) continue;
    if (s == kOwn + kFreed + kReference) delete this;
    return;
  }
  host.release(reinterpret_cast<void*>(s));
}

void* Adoptable::host_object() const noexcept {
  const uintptr_t s = state_.load(std::memory_order_acquire);
  return s & kOwn ? nullptr : reinterpret_cast<void*>(s);
}

void Adoptable::adopt_by(void* object) const noexcept {
  const uintptr_t before = state_.exchange(reinterpret_cast<uintptr_t>(object), std::memory_order_acq_rel);
  if (!(before & kOwn)) return;
  for (uintptr_t n = before / kReference; n > 0; --n) host.retain(object);
}

uint32_t Adoptable::use_count() const noexcept {
  const uintptr_t s = state_.load(std::memory_order_acquire);
  return s & kOwn ? uint32_t(s / kReference) : 0;
}

}  // namespace pyburn
