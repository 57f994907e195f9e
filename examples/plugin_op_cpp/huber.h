// The Huber function as an operation of pyburn: x^2 / 2 near zero, straight beyond delta.
#pragma once
#include "pyburn/ops/tensor.h"

namespace pyburn_huber {

struct Huber {
  double delta = 1;
  PB_FIELDS(delta)  // equality, hash, printing and the wire form derive from this line
};

extern pyburn::OpInfo huber_row;

inline pyburn::Tensor huber(const pyburn::TensorHandle& x, double delta = 1) {
  pyburn::InputList in;
  in.add(x);
  return pyburn::call(huber_row, Huber{delta}, in);
}

}  // namespace pyburn_huber
