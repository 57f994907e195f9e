// What kind of pages host memory comes in.
#pragma once

namespace pyburn {

// While it lives, memory that this thread gets from the system comes in ordinary pages. Huge ones are a little faster to use, but the
// system may take several times as long to clear them, which shows where memory is touched for the first time in a call that a user waits
// for.
class OrdinaryPages {
 public:
  OrdinaryPages();
  ~OrdinaryPages();
  OrdinaryPages(const OrdinaryPages&) = delete;
  static bool wanted();

 private:
  bool before_;
};

}  // namespace pyburn
