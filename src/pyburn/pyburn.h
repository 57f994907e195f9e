// Everything a program needs: #include "pyburn/pyburn.h", call pyburn::start() once, and go.
#pragma once
#include "pyburn/decorators/autodiff/autograd.h"
#include "pyburn/inference/capture.h"
#include "pyburn/inference/session.h"
#include "pyburn/io/safetensors.h"
#include "pyburn/nn/nn.h"
#include "pyburn/ops/functions.h"
#include "pyburn/optim/optimizer.h"
#include "pyburn/runtime/device.h"
#include "pyburn/runtime/generator.h"
#include "pyburn/runtime/transfer.h"
#include "pyburn/start.h"
#include "pyburn/support/thread_pool.h"
