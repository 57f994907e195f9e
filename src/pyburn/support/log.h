// Messages for the user that are not errors. One replaceable sink; the bindings send messages to Python's logging.
#pragma once
#include <string>

namespace pyburn {

using LogSink = void (*)(const std::string& message);
void set_log_sink(LogSink);  // null restores stderr
void log(const std::string& message);
void log_once(const std::string& message);  // each text once per process

// Reports a likely mistake: a UserWarning in Python, a log line elsewhere.
using WarningSink = void (*)(const std::string& message);
void set_warning_sink(WarningSink);  // may throw: users can turn warnings into errors
void warn(const std::string& message);

}  // namespace pyburn
