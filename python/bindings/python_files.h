// Input and output files between Python and the core.
#pragma once
#include <filesystem>

#include "objects.h"
#include "pyburn/io/byte_sink.h"
#include "pyburn/io/snapshot.h"

namespace pyburn::python {

// A path, or bytes, which are copied.
io::SharedBytes bytes_to_read(nanobind::handle source);

// Calls `fill` for a path (the file appears when it is complete) or for an object with a method write().
void write_to(nanobind::handle target, const std::function<void(io::ByteSink&)>& fill);

Device& device_or_default(nanobind::handle device);  // None: the default
std::string text_of(nanobind::handle text);          // TypeError unless str; ValueError for lone surrogates

}  // namespace pyburn::python
