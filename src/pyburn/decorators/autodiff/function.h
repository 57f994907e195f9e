// Functions with a gradient of the program's own.
//
//   const Tensor y = [&] { const autograd::NoGrad no_grad; return round(x); }();
//   autograd::attach_function("RoundStraight", {x}, {y}, [](const Grads& dy) { return dy; });
#pragma once
#include <functional>
#include <string>

#include "pyburn/ir/op_info.h"

namespace pyburn::autograd {

using BackwardFunction = std::function<Grads(const Grads& dy)>;

// Makes `outputs`, which were computed from `inputs` without being recorded, results of one step of the graph. `backward` turns their
// gradients, undefined where none came, into those of `inputs`, undefined where there is none. What it does is recorded where the
// gradients are to be differentiated again. Undefined inputs and outputs are passed over; `written` are outputs that existed before.
void attach_function(
    std::string name, const Tensors& inputs, const Tensors& outputs, BackwardFunction backward, const std::vector<bool>& written = {});

}  // namespace pyburn::autograd
