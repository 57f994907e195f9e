// The table of operators: what each operator of ONNX does, by the version of its domain.
#pragma once
#include <initializer_list>
#include <span>

#include "pyburn/onnx/value.h"

namespace pyburn::onnx {

class Call;

// The outputs of an operator, in order. A single tensor or value is a list of one.
struct Results : Values {
  using Values::Values;
  Results(TensorHandle t) : Values{Value(std::move(t))} {}
  Results(Value v) : Values{std::move(v)} {}
  Results(std::initializer_list<TensorHandle> tensors) : Values(tensors.begin(), tensors.end()) {}
  Results(Values values) : Values(std::move(values)) {}
};
using RunOperator = Results (*)(Call&);

// Bits of inputs, by position.
constexpr uint32_t input_bit(int i) { return uint32_t(1) << i; }
template <class... I>
constexpr uint32_t inputs_at(I... i) {
  return (input_bit(i) | ... | uint32_t(0));
}

// One row: an operator from version `since` of its domain until the version of the next row of its name. A row is written in public
// operations, so that gradients, backends and capture need nothing more.
struct Operator {
  std::string_view domain, name;  // the standard domain is ""
  int since;
  RunOperator run;
  uint32_t reads = 0;  // inputs whose values decide what is computed (shapes, axes, counts): they are read on the host
  uint32_t state = 0;  // inputs that the operator changes while it trains: buffers, not parameters
};

// The row that serves an operator in this version of its domain; null where there is none.
const Operator* find_operator(std::string_view domain, std::string_view name, int64_t version);
// Every row, in the order of the table.
std::vector<const Operator*> all_operators();

// The families. A family is in the table because operator.cpp names it.
std::span<const Operator> elementwise_operators();
std::span<const Operator> comparison_operators();
std::span<const Operator> activation_operators();
std::span<const Operator> reduce_operators();
std::span<const Operator> shape_operators();
std::span<const Operator> creation_operators();
std::span<const Operator> gather_operators();
std::span<const Operator> convolution_operators();
std::span<const Operator> pool_operators();
std::span<const Operator> normalisation_operators();
std::span<const Operator> matmul_operators();
std::span<const Operator> resize_operators();
std::span<const Operator> attention_operators();
std::span<const Operator> cast_operators();
std::span<const Operator> microsoft_operators();
std::span<const Operator> ml_operators();
std::span<const Operator> map_operators();
std::span<const Operator> support_vector_operators();
std::span<const Operator> hash_operators();
std::span<const Operator> quantised_operators();
std::span<const Operator> quantised_microsoft_operators();
std::span<const Operator> recurrent_operators();
std::span<const Operator> sequence_operators();
std::span<const Operator> signal_operators();
std::span<const Operator> string_operators();
std::span<const Operator> training_operators();
std::span<const Operator> vision_operators();
std::span<const Operator> control_flow_operators();
std::span<const Operator> loss_operators();
std::span<const Operator> spatial_operators();
std::span<const Operator> legacy_operators();

}  // namespace pyburn::onnx
