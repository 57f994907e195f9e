// Matrix products.
#pragma once
#include "pyburn/ir/op_info.h"

namespace pyburn::op {
extern OpInfo bmm;       // (B, M, K) x (B, K, N): what every product becomes
extern OpInfo bmm_plus;  // the same, added to what is given
}  // namespace pyburn::op
