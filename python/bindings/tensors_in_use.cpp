#include "tensors_in_use.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <vector>

#include "pyburn/support/error.h"

namespace pyburn::python {
namespace {

struct Use {
  const TensorImpl* tensor;
  const TensorsInUse* owner;
  const void* thread;
};
std::vector<Use>& uses() {  // changes only with the GIL
  static auto* list = new std::vector<Use>;
  return *list;
}

thread_local char this_thread;  // its address names the thread

bool is_used_elsewhere(const TensorHandle& t) {
  return std::ranges::any_of(uses(), [&](const Use& u) { return u.tensor == t.impl() && u.thread != &this_thread; });
}

}  // namespace

TensorsInUse::~TensorsInUse() {
  if (any_) std::erase_if(uses(), [this](const Use& u) { return u.owner == this; });
}

void TensorsInUse::add(const TensorHandle& t) {
  if (!t.defined()) return;
  uses().push_back({t.impl(), this, &this_thread});
  any_ = true;
}

void wait_until_unused(const TensorHandle& slot, const char* what) {
  const auto begin = std::chrono::steady_clock::now();
  while (is_used_elsewhere(slot)) {
    require<Error>(std::chrono::steady_clock::now() - begin < std::chrono::seconds(10),
        "[{}] another thread has been computing with this tensor for 10 seconds: wait until it is done", what);
    {
      const GilRelease released;
      usleep(50);
    }
    if (PyErr_CheckSignals() != 0) throw PythonError();
  }
}

void forget_tensors_of_other_threads() noexcept {
  std::erase_if(uses(), [](const Use& u) { return u.thread != &this_thread; });
}

}  // namespace pyburn::python
