// Fills the tables: operations, backends, decorators. Call it once before anything else; more calls do nothing.
#pragma once

namespace pyburn {

void start();

}  // namespace pyburn
