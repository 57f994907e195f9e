#include "pyburn/support/log.h"

#include <atomic>
#include <cstdio>
#include <unordered_set>

#include "pyburn/support/fork_safe_mutex.h"

namespace pyburn {
namespace {
std::atomic<LogSink> sink{nullptr};
std::atomic<WarningSink> warning_sink{nullptr};
}  // namespace

void set_log_sink(LogSink s) { sink = s; }

void log(const std::string& message) {
  if (LogSink s = sink) s(message);
  else std::fprintf(stderr, "pyburn: %s\n", message.c_str());
}

void set_warning_sink(WarningSink s) { warning_sink = s; }

void warn(const std::string& message) {
  if (WarningSink s = warning_sink) s(message);
  else log(message);
}

void log_once(const std::string& message) {
  static auto& mutex = *new ForkSafeMutex;
  static auto* seen = new std::unordered_set<std::string>;
  {
    std::lock_guard lock(mutex);
    if (!seen->insert(message).second) return;
  }
  log(message);
}

}  // namespace pyburn
