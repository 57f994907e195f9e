// What every family's source includes: the door, gradient contexts and the functions that rules are written in.
#pragma once
#include "pyburn/ir/grad_context.h"
#include "pyburn/ops/functions.h"
#include "pyburn/ops/operators.h"
#include "pyburn/runtime/run.h"
#include "pyburn/support/error.h"
