// Padding of tensors.
#pragma once
#include "pyburn/ir/op_info.h"
#include "pyburn/runtime/run.h"

namespace pyburn {

// pad holds (before, after) of the last dimension, then of the one before it, ... Negative widths crop.
struct ConstantPad {
  Dims pad;
  Scalar value;
  PB_FIELDS(pad, value)
  static ConstantPad from(const TensorHandle&, const Dims& pad, const Scalar& value) { return {pad, value}; }
  int64_t before(int axis, int rank) const { return at(2 * (rank - 1 - axis)); }
  int64_t after(int axis, int rank) const { return at(2 * (rank - 1 - axis) + 1); }

 private:
  int64_t at(int64_t i) const { return i < pad.size() ? pad[i] : 0; }
};

// Padding with the input's own elements: reflected without the border, replicated border, or circular. pad is as in ConstantPad, without
// negative widths.
enum class Border : uint8_t { reflect, replicate, circular };
struct BorderPad {
  Dims pad;
  Border border = Border::reflect;
  PB_FIELDS(pad, border)
  static BorderPad from(const TensorHandle&, const Dims& pad, const std::string& mode);
};

namespace op {
extern OpInfo constant_pad_nd, _border_pad;
}

}  // namespace pyburn
