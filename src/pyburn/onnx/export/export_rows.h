// How operations are written as ONNX nodes: one row each, in files by family.
#pragma once
#include <span>

#include "pyburn/onnx/export/graph_writer.h"

namespace pyburn::onnx {

// A node that is being written.
class ExportCall {
 public:
  ExportCall(GraphWriter& writer, const GraphNode& node, const char* type) : writer(writer), node(node), type(type) {}
  GraphWriter& writer;
  const GraphNode& node;
  const char* type;  // of the row

  template <class A>
  const A& as() const {
    return node.op.ref().as<A>();
  }
  int64_t inputs() const { return node.in.size(); }
  bool has(int64_t i) const { return i < node.in.size() && node.in[i] >= 0; }
  std::string in(int64_t i) const { return i < node.in.size() ? writer.name(node.in[i]) : std::string(); }
  const Meta& meta(int64_t i) const { return writer.meta(node.in[i]); }
  const Meta& result(int64_t i = 0) const { return writer.meta(node.out[i]); }
  std::string shape_of(int64_t i) const { return writer.shape_of(node.in[i]); }
  bool is_fixed() const;  // no size depends on a free extent

  std::string add(const std::string& type, Names inputs, Attributes attributes = {}) const {
    return writer.add(type, std::move(inputs), std::move(attributes));
  }
  void make(const std::string& type, Names inputs, Attributes attributes = {}) const {
    writer.make(node.out[0], type, std::move(inputs), std::move(attributes));
  }
  // A number of the dtype of input i.
  std::string number(const Scalar& value, int64_t i = 0) const { return writer.number(value, meta(i).dtype); }
  std::string integers(const std::vector<int64_t>& values) const { return writer.integers(values); }
  std::string integers(const Dims& values) const { return writer.integers({values.begin(), values.end()}); }
  // Converted where the dtype is another one.
  std::string cast(const std::string& name, DType from, DType to) const;
  std::string in_as(int64_t i, DType dtype) const { return cast(in(i), meta(i).dtype, dtype); }

  // Raises UnsupportedOp, with the name of the operation in front.
  [[noreturn]] void refuse(const std::string& why) const;
};

struct ExportRow {
  std::string_view name;  // of the operation
  void (*write)(const ExportCall&);
  const char* type = "";    // of the ONNX node, for functions that serve several rows
  bool broadcasts = false;  // inputs of different shapes are stretched by ONNX itself
};

using ExportRows = std::span<const ExportRow>;
ExportRows elementwise_rows();
ExportRows activation_rows();
ExportRows movement_rows();
ExportRows reduction_rows();
ExportRows index_rows();
ExportRows creation_rows();
ExportRows product_rows();
ExportRows convolution_rows();
ExportRows normalisation_rows();
ExportRows recurrent_rows();

const ExportRow* find_export_row(const OpInfo& op);  // null where there is none

inline Attribute ints(const char* name, const Dims& values) { return {name, std::vector<int64_t>(values.begin(), values.end())}; }
inline Attribute flag(const char* name, bool value) { return {name, int64_t(value)}; }

}  // namespace pyburn::onnx
