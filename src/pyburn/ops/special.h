// Special functions.
#pragma once
#include "pyburn/ir/op_info.h"
#include "pyburn/ops/binary.h"

namespace pyburn::op {
extern OpInfo i0, special_i0e, special_i1, special_i1e, special_erfcx, special_ndtri, special_zeta, igamma, igammac;
}
