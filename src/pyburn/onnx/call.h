// Call: one node while it runs. An operator takes its inputs and attributes from it, with the defaults of the standard.
#pragma once
#include "pyburn/onnx/operator.h"
#include "pyburn/runtime/device.h"

namespace pyburn::onnx {

class Interpreter;
struct PlanNode;

class Call {
 public:
  Call(Interpreter& interpreter, const PlanNode& node, std::span<const Value> inputs);

  int64_t opset() const;                          // the version of the domain that the graph asks for
  Device& device() const { return *device_; }     // where the operator runs, and where it makes new tensors
  bool runs_on_host() const { return on_host_; }  // all tensors that it computes with are on the host
  bool training() const;                          // the model is in training mode

  // Inputs. Tensors are moved to where the operator runs. FormatError for one that is needed and not given, or of another kind.
  int inputs() const { return int(inputs_.size()); }
  bool has_input(int i) const { return i >= 0 && i < inputs() && !inputs_[size_t(i)].is_absent(); }
  const Value& value(int i) const;
  TensorHandle input(int i) const;
  TensorHandle optional_input(int i) const;  // undefined where it is not given
  Tensors tensors_from(int first) const;
  TensorHandle as_tensor(const Value& value, int i) const;  // for items of sequences

  // Values of inputs that the row `reads`. CaptureError while capturing, where they depend on an input of the model.
  std::vector<int64_t> read_integers(int i) const;
  std::vector<double> read_numbers(int i) const;
  int64_t read_integer(int i) const;
  double read_number(int i) const;
  bool read_boolean(int i) const { return read_number(i) != 0; }

  int outputs() const;  // how many the node names
  bool wants_output(int i) const;

  // Attributes. FormatError for one of another type; without a default: for one that is missing.
  bool has(std::string_view name) const { return find(name, AttributeDef::Kind::none); }
  int64_t integer(std::string_view name) const;
  int64_t integer(std::string_view name, int64_t otherwise) const;
  bool flag(std::string_view name, bool otherwise = false) const { return integer(name, otherwise) != 0; }
  double real(std::string_view name) const;
  double real(std::string_view name, double otherwise) const;
  std::string text(std::string_view name, std::string_view otherwise) const;
  std::string text(std::string_view name) const;
  OptionalDims integers(std::string_view name) const;
  Dims integers(std::string_view name, const Dims& otherwise) const { return integers(name).value_or(otherwise); }
  Dims dims(std::string_view name) const;  // needed
  std::vector<double> reals(std::string_view name) const;
  std::vector<std::string> texts(std::string_view name) const;
  const TensorDef* tensor(std::string_view name) const;
  const AttributeDef* attribute(std::string_view name) const { return find(name, AttributeDef::Kind::none); }

  // A dtype written as a number of ONNX.
  DType dtype(std::string_view name) const { return dtype_of(integer(name)); }
  DType dtype(std::string_view name, DType otherwise) const { return has(name) ? dtype(name) : otherwise; }
  // A list from an attribute, in older versions, or from input i. Nothing where neither is given.
  OptionalDims integers_of(std::string_view name, int i) const;
  Dims dims_of(std::string_view name, int i) const;  // the same where it is needed

  // What `make` gives, made once for the node and kept: tables that follow from its attributes alone.
  template <class T, class Make>
  std::shared_ptr<const T> prepared(const Make& make) const {
    std::shared_ptr<const void> kept = find_prepared();
    if (!kept) keep_prepared(kept = std::make_shared<const T>(make()));
    return std::static_pointer_cast<const T>(kept);
  }

  // Runs the graph of an attribute: the branch of an If, the body of a Loop.
  Values run_graph(std::string_view name, std::span<const Value> inputs) const;

 private:
  const AttributeDef* find(std::string_view name, AttributeDef::Kind kind) const;
  std::shared_ptr<const void> find_prepared() const;
  void keep_prepared(const std::shared_ptr<const void>& made) const;
  Interpreter& interpreter_;
  const PlanNode& node_;
  std::span<const Value> inputs_;
  Device* device_;
  bool on_host_ = false;
};

}  // namespace pyburn::onnx
