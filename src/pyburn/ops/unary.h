// Elementwise functions of one tensor.
#pragma once
#include "pyburn/ir/op_info.h"

namespace pyburn::op {
extern OpInfo neg, abs, exp, log, sqrt, rsqrt, sin, cos, tanh, sigmoid, relu;
}
