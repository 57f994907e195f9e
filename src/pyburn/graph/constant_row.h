// Constants that a graph combines with the rows of a value: a weight or a bias for each element of a row.
#pragma once
#include "pyburn/graph/graph_editor.h"

namespace pyburn {

// A number per element of a row, as a float32 constant behind views that stretch it. Undefined: something else.
TensorHandle constant_row(const GraphEditor&, ValueId v, int64_t row);

// The sole user of v, if it is `op` and combines v with such a constant.
struct RowFollower {
  int32_t node = -1;
  TensorHandle constant;
};
RowFollower row_follower(const GraphEditor&, ValueId v, const OpInfo& op, int64_t row);

}  // namespace pyburn
