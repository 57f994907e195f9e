// Layout selection: which images of a lowered program have their channels last.
#pragma once
#include "pyburn/graph/lowering.h"

namespace pyburn {

// Images between convolutions, most of whose work is depthwise or has one tap, and what is computed from them element by element, get their
// channels last: there channels fill vectors whatever the size of a plane. For backends whose convolutions take images in that order.
// Results of the graph and images that other operations read keep the order they have.
void choose_layouts(LoweredProgram&);

}  // namespace pyburn
