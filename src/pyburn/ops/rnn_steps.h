// The time steps of one recurrent layer in one direction; the inputs of all steps have been projected in one product.
#pragma once
#include "pyburn/ir/op_info.h"
#include "pyburn/runtime/run.h"

namespace pyburn {

// projected is (T, B, G * H), weight (G * H, H), h0 and c0 (B, H), with G gates: 4 for lstm (input, forget, cell, output), 3 for gru
// (reset, update, new), 1 for tanh and relu. Saved for the gradient: the cells of lstm (T, B, H), and the activated gates (T, B, 4 * H),
// where the fourth of gru is the recurrent part of the new gate. Absent parts are empty.
struct RnnSteps {
  std::string cell = "lstm";
  bool reverse = false;
  PB_FIELDS(cell, reverse)
  int64_t gates() const { return cell == "lstm" ? 4 : cell == "gru" ? 3 : 1; }

  using T = TensorHandle;
  static RnnSteps from(const T&, const T&, const T& bias, const T&, const T&, const std::string& cell, bool reverse) {
    if (bias.defined()) require(bias.rank() == 1, "expected a 1-d bias: got {}", bias.shape());
    return {cell, reverse};
  }
  static RnnSteps from(
      const T&, const T& grad_cells, const T&, const T&, const T&, const T&, const T&, const T&, const std::string& cell, bool reverse) {
    if (grad_cells.defined()) require(grad_cells.rank() == 3, "expected a gradient of 3 dimensions: got {}", grad_cells.shape());
    return {cell, reverse};
  }
};

// The rules composed of public operations. weight_hr (lstm only) projects the state before it is used again.
Tensors forward_in_time(const RnnSteps& a, const TensorHandle& projected, const TensorHandle& weight, const TensorHandle& bias,
    const TensorHandle& h0, const TensorHandle& c0, const TensorHandle& weight_hr = {});
Tensors backward_in_time(const RnnSteps& a, const TensorHandle& d_output, const TensorHandle& d_cells, const TensorHandle& d_gates,
    const TensorHandle& weight, const TensorHandle& h0, const TensorHandle& c0, const TensorHandle& output, const TensorHandle& cells,
    const TensorHandle& gates);
// Concatenates tensors along dim.
TensorHandle joined(const Tensors& parts, int64_t dim);

namespace op {
extern OpInfo rnn_steps, rnn_steps_grad;
}

}  // namespace pyburn
