#include "pyburn/runtime/run_observer.h"

namespace pyburn {

namespace {
constinit thread_local RunObserver* observer = nullptr;
}

RunObserver* run_observer() { return observer; }

ObserverScope::ObserverScope(RunObserver& o) : previous_(observer) { observer = &o; }
ObserverScope::~ObserverScope() { observer = previous_; }

UnobservedScope::UnobservedScope() : observer_(observer) { observer = nullptr; }
UnobservedScope::~UnobservedScope() { observer = observer_; }

}  // namespace pyburn
