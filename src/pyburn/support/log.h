// Messages for the user that are not errors. One sink, replaceable; the bindings send it to Python's logging.
#pragma once
#include <string>

namespace pyburn {

using LogSink = void (*)(const std::string& message);
void set_log_sink(LogSink);  // null restores stderr
void log(const std::string& message);
void log_once(const std::string& message);  // each text once per process

// What a program does is allowed, and likely a mistake: a UserWarning in Python, a line of the log elsewhere.
using WarningSink = void (*)(const std::string& message);
void set_warning_sink(WarningSink);  // may throw: users can make errors of warnings
void warn(const std::string& message);

}  // namespace pyburn
