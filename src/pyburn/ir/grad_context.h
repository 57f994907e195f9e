// The values that a gradient rule may read.
#pragma once
#include "pyburn/ir/op_info.h"

namespace pyburn {

class GradContext {
 public:
  virtual const TensorHandle& dy(int i = 0) const = 0;  // gradient of output i; zeros if none arrived
  virtual bool has_dy(int i) const = 0;
  virtual TensorHandle input(int i) const = 0;       // needs Saves::inputs or others; undefined if not saved
  virtual TensorHandle output(int i = 0) const = 0;  // needs Saves::outputs
  virtual const Meta& meta(int i) const = 0;         // of input i; always available
  virtual bool needs(int i) const = 0;               // does input i require a gradient?
  virtual int inputs() const = 0;

 protected:
  ~GradContext() = default;
};

}  // namespace pyburn
