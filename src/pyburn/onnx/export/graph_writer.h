// GraphWriter: an ONNX graph under construction. Nodes are appended in order; values are known by their names.
#pragma once
#include <map>
#include <set>
#include <variant>

#include "pyburn/ir/graph.h"
#include "pyburn/onnx/model_proto.h"

namespace pyburn::onnx {

struct Attribute {
  std::string name;
  std::variant<int64_t, double, std::string, std::vector<int64_t>> value;
};
using Attributes = std::vector<Attribute>;
using Names = std::vector<std::string>;

class GraphWriter {
 public:
  // `inputs` and `outputs` name what the graph has; empty: the graph's own names.
  GraphWriter(const Graph& graph, int64_t opset, Names inputs, Names outputs);

  const Graph& graph() const { return graph_; }
  int64_t opset() const { return opset_; }
  const Meta& meta(ValueId v) const { return graph_.values[size_t(v)]; }
  // Does v have the same shape for all sizes of the free extents?
  bool has_fixed_shape(ValueId v) const { return !varies_[size_t(v)]; }

  const GraphNode* maker(ValueId v) const { return makers_[size_t(v)]; }  // null for inputs and constants
  const std::vector<const GraphNode*>& users(ValueId v) const { return users_[size_t(v)]; }
  bool is_used(ValueId v) const { return !users(v).empty() || wanted_.count(v); }
  bool is_bound(ValueId v) const { return !names_[size_t(v)].empty(); }

  // The name under which value v is known; "" for an absent one.
  const std::string& name(ValueId v);
  // From now on, value v is what has this name.
  void bind(ValueId v, const std::string& name);
  // Appends a node that makes value v.
  void make(ValueId v, const std::string& type, Names inputs, Attributes attributes = {});
  // Appends a node and returns the names of its results.
  Names add(const std::string& type, Names inputs, Attributes attributes, size_t results);
  std::string add(const std::string& type, Names inputs, Attributes attributes = {}) {
    return add(type, std::move(inputs), std::move(attributes), 1)[0];
  }

  std::string constant(const TensorHandle& t, const std::string& wanted_name = "constant");
  std::string number(const Scalar& value, DType dtype);      // 0-d
  std::string integers(const std::vector<int64_t>& values);  // 1-d
  std::string shape_of(ValueId v);                           // 1-d, constant where it is fixed
  // Integers of the attributes of a node, of which the first is number `slot` in field order, as a 1-d tensor.
  std::string integers_of(const GraphNode& node, std::span<const int64_t> values, int64_t slot);
  bool varies(const GraphNode& node, int64_t slot) const { return patch_of(node, slot) != nullptr; }

  // The model as bytes of ModelProto. Constants of a kilobyte and more go to `external` where that is given, the content of a file
  // `location` beside the model.
  std::string finish(const std::string& graph_name, std::string* external = nullptr, const std::string& location = "");
  int64_t constant_bytes() const;

 private:
  std::string fresh(const std::string& stem);
  void append(const std::string& type, Names inputs, const Names& outputs, const Attributes& attributes);
  std::string computed(const ExtentExpression& e, const GraphNode& node);
  std::string dimension(const std::string& value, int64_t axis);
  const ExtentExpression* patch_of(const GraphNode& node, int64_t slot) const;
  void find_makers();
  void find_varying();
  std::string value_info(const std::string& name, ValueId v, const std::optional<std::vector<Extent>>& sizes) const;
  std::vector<Extent> sizes_of_input(size_t input) const;

  struct Constant {
    std::string name;
    TensorHandle tensor;
  };
  const Graph& graph_;
  int64_t opset_;
  std::vector<bool> varies_;
  std::vector<const GraphNode*> makers_;
  std::vector<std::vector<const GraphNode*>> users_;
  Names names_, input_names_, output_names_;
  std::map<ValueId, std::string> wanted_;      // names of outputs
  std::map<ValueId, size_t> graph_constants_;  // numbers of the graph's
  std::set<std::string> taken_;
  std::map<std::string, std::string> known_;  // integers and dimensions that were written before
  std::vector<Constant> constants_;
  std::string nodes_;  // encoded fields of GraphProto
};

}  // namespace pyburn::onnx
