// Messages for the user that are not errors. One sink, replaceable; the bindings send it to Python's logging.
#pragma once
#include <string>

namespace pyburn {

using LogSink = void (*)(const std::string& message);
void set_log_sink(LogSink);  // null restores stderr
void log(const std::string& message);
void log_once(const std::string& message);  // each text once per process

}  // namespace pyburn
