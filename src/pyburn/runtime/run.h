// The door: every operation enters here, is checked once, and is passed down the stack of its device.
#pragma once
#include <array>

#include "pyburn/runtime/device.h"
#include "pyburn/support/error.h"

namespace pyburn {

class Generator;

// A tensor or a number, for operations that accept either. Borrowed.
class Operand {
 public:
  Operand(const TensorHandle& t) : tensor_(&t) {}
  template <class N>
  requires std::is_arithmetic_v<N> || std::is_same_v<N, Scalar> Operand(N v) : value_(v) {}
  bool is_tensor() const { return tensor_ != nullptr; }
  const TensorHandle& tensor() const { return *tensor_; }
  const Scalar& value() const { return value_; }

 private:
  const TensorHandle* tensor_ = nullptr;
  Scalar value_;
};

// Collects the tensor inputs of a call, in schema order.
class InputList {
 public:
  void add(const TensorHandle& t) { list_.push_back(&t); }
  void add(const Operand& o) {
    if (o.is_tensor()) list_.push_back(&o.tensor());
  }
  template <class C>
  requires requires(const C& c) { c.begin(); }
  void add(const C& tensors) {
    for (const TensorHandle& t : tensors) list_.push_back(&t);
  }
  operator Inputs() const { return {list_.data(), size_t(list_.size())}; }

 private:
  SmallVector<const TensorHandle*, 8> list_;
};

// Runs op on the device of its inputs, or on `device` if there are none. Defined outputs are written to (in-place and out= forms); the
// others are created.
void dispatch(OpRef op, Inputs in, Outputs out, Device* device = nullptr);

// `outputs` is the number of results, for operations with several.
template <class A>
TensorHandle call(const OpInfo& info, const A& attrs, const InputList& in, Device* device = nullptr) {
  TensorHandle out;
  dispatch({&info, &attrs}, in, {&out, 1}, device);
  return out;
}
template <class A>
void call_into(const OpInfo& info, const A& attrs, const InputList& in, const TensorHandle& out) {
  TensorHandle target = out;
  dispatch({&info, &attrs}, in, {&target, 1});
}
// For operations whose schema names N results.
template <int N>
using Handles = std::array<TensorHandle, N>;
template <int N, class A>
Handles<N> call_array(const OpInfo& info, const A& attrs, const InputList& in) {
  Handles<N> out;
  dispatch({&info, &attrs}, in, out);
  return out;
}
template <int N, class A>
void call_array_into(const OpInfo& info, const A& attrs, const InputList& in, const Handles<N>& out) {
  Handles<N> targets = out;
  dispatch({&info, &attrs}, in, targets);
}
template <class A>
Tensors call_many(const OpInfo& info, const A& attrs, const InputList& in, int outputs, Device* device = nullptr) {
  Tensors out(outputs, {});
  dispatch({&info, &attrs}, in, {out.data(), size_t(out.size())}, device);
  return out;
}

// Calls make(), and prefixes error messages with the function's name.
template <class Make>
auto naming(std::string_view function, Make make) {
  try {
    return make();
  } catch (Error& e) {
    e.prefix(function);
    throw;
  }
}
template <class Make>
auto naming(const OpInfo& info, Make make) {  // the name is computed only if needed
  try {
    return make();
  } catch (Error& e) {
    e.prefix(info.function());
    throw;
  }
}
// Creation functions: a leaf that requires grad. DTypeError unless floating point.
TensorHandle asking_for_gradient(TensorHandle t, bool requires_grad);

// A composite may compute its result as a view of a tensor that nothing else references: such a result does not count as a
// view.
TensorHandle independent(TensorHandle view);

// For decorators: native kernel, else the decomposition at this level, else UnsupportedOp.
void run(Backend& backend, OpRef op, Inputs in, Outputs out);
// Converts the results of a decomposition or a row's kernel to the outputs of the call, at the level where they were requested.
void place_results(Tensors results, Outputs out);
// The decomposition at this level; the operation must have one.
void decompose(Backend& backend, OpRef op, Inputs in, Outputs out);
DType key_dtype(const OpInfo& info, Inputs in, Outputs out);  // the dtype by which run() selects a kernel

// While it lives, operations called on this thread enter the stack at `backend` instead of at the top.
class LevelScope {
 public:
  explicit LevelScope(Backend& backend);
  explicit LevelScope(std::nullptr_t);  // back to the top: for kernels that call operations themselves
  ~LevelScope();

 private:
  Backend* previous_;
};
Backend* current_level();  // null: the top

}  // namespace pyburn
