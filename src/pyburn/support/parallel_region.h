// Whether the caller is inside of a region of work already: what it starts then runs on its own thread, and need not be cut up.
#pragma once

namespace pyburn {

bool in_parallel_for();

}  // namespace pyburn
