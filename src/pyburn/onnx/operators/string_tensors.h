// Inputs that are tensors of strings.
#pragma once
#include "pyburn/onnx/call.h"

namespace pyburn::onnx {

const Strings& strings_of(Call& c, int i);  // FormatError for an input that holds numbers
Value equal_strings(Call& c);               // inputs 0 and 1, element by element

// Strings among the inputs of an operator that moves elements: it runs on their places, tensors of integers, and the strings are put back.
class MovedStrings {
 public:
  explicit MovedStrings(Values& inputs);  // places instead of strings
  void put_back(Values& results) const;

 private:
  std::vector<Value> sources_;  // the places of each follow those of the one before
};

}  // namespace pyburn::onnx
