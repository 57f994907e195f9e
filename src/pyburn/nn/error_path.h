// Adds the path of the failing module to errors: "in Sequential.12 (Linear 15 → 16): expected 15 features, got 16".
#pragma once
#include <string>

#include "pyburn/nn/module.h"

namespace pyburn::nn {

// The innermost module whose call failed, as the error propagates through the enclosing calls.
struct ErrorOrigin {
  const void* module = nullptr;  // compared, never dereferenced: it may be destroyed
  std::string layer;             // "Linear 15 → 16"
  std::string message;           // without the path
};

ErrorOrigin origin_of(Module& module, std::string message);
// The message for an enclosing module: with the path from it to the origin, if the origin is inside it.
std::string message_at(Module& module, const ErrorOrigin& origin);

// The message of the error that this thread handles, for the host; without a module if none was recorded.
ErrorOrigin take_origin(const Error& error);

}  // namespace pyburn::nn
