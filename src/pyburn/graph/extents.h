// Graphs with dynamic sizes: captured at several sizes, from which the expressions for their integers are derived.
#pragma once
#include <functional>

#include "pyburn/ir/graph.h"

namespace pyburn {

struct FreeExtent {
  std::string name;
  int64_t example = 0;    // a size that the function takes; its multiples must do, too. 0: any size above 1 does
  bool is_small = false;  // the next two sizes must do instead
};
constexpr int64_t kDivisible = 12;  // extents that follow from values are captured at small sizes next to each other, or at multiples of it

// `capture(sizes)` gives the graph at these sizes of the free extents; `axes` says where the inputs have them. The graph is captured at one
// size more than there are extents, and one at which all differ. CaptureError names the operation that follows from none of it.
// Extents that the graph itself names follow from values; they come after the free ones, in `sizes` too, where sizes for them may be
// missing.
Ref<Graph> with_free_extents(const std::function<Ref<Graph>(std::span<const int64_t> sizes)>& capture, std::span<const FreeExtent> extents,
    std::vector<FreeAxis> axes);

}  // namespace pyburn
