// Bessel functions not in special.h, and Airy functions.
#pragma once
#include "pyburn/ir/op_info.h"

namespace pyburn::op {
extern OpInfo special_airy_ai, special_bessel_j0, special_bessel_j1, special_bessel_y0, special_bessel_y1,
    special_scaled_modified_bessel_k0, special_scaled_modified_bessel_k1;
}
