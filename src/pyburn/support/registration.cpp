#include "pyburn/support/registration.h"

namespace pyburn {
namespace {

thread_local RegistrationScope* innermost = nullptr;

}  // namespace

RegistrationScope::RegistrationScope() : outer_(innermost) { innermost = this; }

RegistrationScope::~RegistrationScope() {
  innermost = outer_;
  while (!undo_.empty()) {
    undo_.back()();
    undo_.pop_back();
  }
}

bool in_registration_scope() { return innermost != nullptr; }

void undo_registration_by(std::function<void()> undo) {
  if (innermost) innermost->undo_.push_back(std::move(undo));
}

}  // namespace pyburn
