// Every operation as a C++ function.
#pragma once
#include "pyburn/ops/generated/functions.h"
