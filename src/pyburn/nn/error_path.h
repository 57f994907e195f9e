// Errors say where in a model they arose: "in Sequential.12 (Linear 15 → 16): expected 15 features, got 16".
#pragma once
#include <string>

#include "pyburn/nn/module.h"

namespace pyburn::nn {

// The module whose call failed first, on its way up through the calls around it.
struct ErrorOrigin {
  const void* module = nullptr;  // compared, never read: it may be gone
  std::string layer;             // "Linear 15 → 16"
  std::string message;           // without the path
};

ErrorOrigin origin_of(Module& module, std::string message);
// The message for a module that was being called: with the path from there to the origin, if that lies below it.
std::string message_at(Module& module, const ErrorOrigin& origin);

// That of an error which this thread handles, for the host; without a module if none has seen it.
ErrorOrigin take_origin(const Error& error);

}  // namespace pyburn::nn
