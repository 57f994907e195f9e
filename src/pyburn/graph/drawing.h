// Drawings of graphs: Graphviz text, and an SVG that needs no other program.
#pragma once
#include <string>

#include "pyburn/ir/graph.h"

namespace pyburn {

std::string to_graphviz(const Graph&);
std::string to_svg(const Graph&);

}  // namespace pyburn
