// Registers operations, backends and decorators. Call it once before anything else; further calls do nothing.
#pragma once

namespace pyburn {

void start();

}  // namespace pyburn
