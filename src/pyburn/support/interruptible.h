// Runs work that does not check for Ctrl-C itself.
#pragma once
#include <functional>

namespace pyburn {

// Runs `work` on another thread and polls for Ctrl-C meanwhile; exceptions of the work reach the caller. If the poll throws, the call ends
// with that exception at once: the work is told to stop (its next check_interrupt() throws) and abandoned, so it must own everything that
// it uses. Without a poll, runs on this thread. Costs about 30 microseconds.
void run_interruptible(std::function<void()> work);

}  // namespace pyburn
