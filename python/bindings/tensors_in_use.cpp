#include "tensors_in_use.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <vector>

#include "pyburn/nn/module.h"
#include "pyburn/support/error.h"
#include "pyburn/support/patient_lock.h"
#include "waits_inside.h"

namespace pyburn::python {
namespace {

struct Use {
  const void* object;
  const TensorsInUse* owner;
  const void* thread;
};
std::vector<Use>& uses() {  // changes only with the GIL
  static auto* list = new std::vector<Use>;
  return *list;
}

thread_local char this_thread;  // its address names the thread

bool is_used_elsewhere(const void* object) {
  return std::ranges::any_of(uses(), [&](const Use& u) { return u.object == object && u.thread != &this_thread; });
}

template <class ObjectNow>
void wait_until_unused(ObjectNow object, const char* what) {
  const auto begin = std::chrono::steady_clock::now();
  const auto waited = [&] { return std::chrono::steady_clock::now() - begin; };
  while (is_used_elsewhere(object()) || (threads_that_wait_inside > 0 && waited() < std::chrono::seconds(1))) {
    require<Error>(waited() < std::chrono::seconds(10),
        "[{}] another thread has been computing with this object for 10 seconds: wait until it is done", what);
    {
      const GilRelease released;
      usleep(50);
    }
    if (PyErr_CheckSignals() != 0) throw PythonError();
  }
}

}  // namespace

TensorsInUse::~TensorsInUse() {
  if (any_) std::erase_if(uses(), [this](const Use& u) { return u.owner == this; });
}

void TensorsInUse::add_object(const void* object) {
  uses().push_back({object, this, &this_thread});
  any_ = true;
}

void TensorsInUse::add(const TensorHandle& t) {
  if (t.defined()) add_object(t.impl());
}

void TensorsInUse::add(const nn::Module& m) {
  add_object(&m);
  for (const nn::Entry& e : m.entries()) {
    add(e.tensor);
    if (e.module) add(*e.module);
  }
}

void wait_until_unused(const TensorHandle& slot, const char* what) {
  wait_until_unused([&] { return static_cast<const void*>(slot.impl()); }, what);
}
void wait_until_unused(const nn::Module& m, const char* what) {
  wait_until_unused([&] { return static_cast<const void*>(&m); }, what);
}

void watch_replacements() {
  while_unused = [](const void* object, void (*work)(void*), void* on) {
    const GilAcquire gil;
    wait_until_unused([&] { return object; }, "out");
    work(on);
  };
}

void forget_tensors_of_other_threads() noexcept {
  std::erase_if(uses(), [](const Use& u) { return u.thread != &this_thread; });
  threads_that_wait_inside = 0;
}

}  // namespace pyburn::python
