// All layers.
#pragma once
#include "pyburn/nn/activation.h"
#include "pyburn/nn/batch_norm.h"
#include "pyburn/nn/clip_grad.h"
#include "pyburn/nn/conv.h"
#include "pyburn/nn/init.h"
#include "pyburn/nn/linear.h"
#include "pyburn/nn/module.h"
#include "pyburn/nn/module_dict.h"
#include "pyburn/nn/module_list.h"
#include "pyburn/nn/module_state.h"
#include "pyburn/nn/sequential.h"
#include "pyburn/nn/shape.h"
