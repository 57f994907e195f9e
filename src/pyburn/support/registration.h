// Registration that succeeds completely or leaves nothing behind: while a scope is open on a thread, code that adds an entry to a table
// registers how to undo it.
#pragma once
#include <functional>
#include <vector>

namespace pyburn {

class RegistrationScope {
 public:
  RegistrationScope();
  ~RegistrationScope();  // undoes the registrations, latest first, unless keep() was called
  RegistrationScope(const RegistrationScope&) = delete;
  RegistrationScope& operator=(const RegistrationScope&) = delete;
  void keep() { undo_.clear(); }

 private:
  friend void undo_registration_by(std::function<void()> undo);
  RegistrationScope* const outer_;
  std::vector<std::function<void()>> undo_;
};

bool in_registration_scope();
// For the innermost scope of this thread; outside of scopes a registration is permanent. `undo` must not throw.
void undo_registration_by(std::function<void()> undo);

}  // namespace pyburn
