#include "pyburn/onnx/export/graph_writer.h"

#include <algorithm>
#include <protozero/pbf_writer.hpp>

#include "pyburn/onnx/element_type.h"
#include "pyburn/onnx/export/output_shapes.h"
#include "pyburn/ops/generated/fill.h"
#include "pyburn/runtime/transfer.h"
#include "pyburn/support/error.h"

namespace pyburn::onnx {
namespace {

// Field numbers of onnx.proto.
namespace field {
constexpr uint32_t kModelIrVersion = 1, kModelProducer = 2, kModelGraph = 7, kModelOpset = 8;
constexpr uint32_t kOpsetDomain = 1, kOpsetVersion = 2;
constexpr uint32_t kGraphNode = 1, kGraphName = 2, kGraphInitializer = 5, kGraphInput = 11, kGraphOutput = 12;
constexpr uint32_t kNodeInput = 1, kNodeOutput = 2, kNodeName = 3, kNodeType = 4, kNodeAttribute = 5;
constexpr uint32_t kAttributeName = 1, kAttributeF = 2, kAttributeI = 3, kAttributeS = 4, kAttributeInts = 8, kAttributeKind = 20;
constexpr uint32_t kTensorDims = 1, kTensorType = 2, kTensorName = 8, kTensorRaw = 9, kTensorExternal = 13, kTensorLocation = 14;
constexpr uint32_t kEntryKey = 1, kEntryValue = 2;
constexpr uint32_t kValueName = 1, kValueType = 2, kTypeTensor = 1, kTensorTypeElement = 1, kTensorTypeShape = 2;
constexpr uint32_t kShapeDimension = 1, kDimensionValue = 1, kDimensionName = 2;
}  // namespace field

std::string encoded(const Attribute& a) {
  constexpr int32_t kFloat = 1, kInt = 2, kString = 3, kInts = 7;
  std::string bytes;
  protozero::pbf_writer out(bytes);
  out.add_string(field::kAttributeName, a.name);
  int32_t kind = kInts;
  if (const auto* i = std::get_if<int64_t>(&a.value)) out.add_int64(field::kAttributeI, *i), kind = kInt;
  else if (const auto* f = std::get_if<double>(&a.value)) out.add_float(field::kAttributeF, float(*f)), kind = kFloat;
  else if (const auto* s = std::get_if<std::string>(&a.value)) out.add_string(field::kAttributeS, *s), kind = kString;
  else
    for (int64_t i : std::get<std::vector<int64_t>>(a.value)) out.add_int64(field::kAttributeInts, i);
  out.add_enum(field::kAttributeKind, kind);
  return bytes;
}

void add_entry(protozero::pbf_writer& out, const char* key, const std::string& value) {
  std::string bytes;
  protozero::pbf_writer entry(bytes);
  entry.add_string(field::kEntryKey, key);
  entry.add_string(field::kEntryValue, value);
  out.add_message(field::kTensorExternal, bytes);
}

// The oldest version of the file format that knows an opset.
int64_t ir_version_of(int64_t opset) { return opset <= 18 ? 8 : opset <= 20 ? 9 : opset <= 22 ? 10 : 11; }

}  // namespace

GraphWriter::GraphWriter(const Graph& graph, int64_t opset, Names inputs, Names outputs)
    : graph_(graph), opset_(opset), names_(graph.values.size()), input_names_(std::move(inputs)), output_names_(std::move(outputs)) {
  find_makers();
  find_varying();
  const auto complete = [&](Names& names, size_t count, const Names& own, const char* stem) {
    for (size_t i = names.size(); i < count; ++i) names.push_back(i < own.size() && !own[i].empty() ? own[i] : stem + std::to_string(i));
    for (const std::string& name : names)
      require<ValueError>(taken_.insert(name).second, "[onnx.export] names must be unique: got '{}' twice", name);
  };
  complete(input_names_, graph.inputs.size(), graph.input_names, "input");
  complete(output_names_, graph.outputs.size(), graph.output_names, "output");
  for (size_t i = 0; i < graph.inputs.size(); ++i) names_[size_t(graph.inputs[i])] = input_names_[i];
  for (size_t i = 0; i < graph.outputs.size(); ++i) wanted_.try_emplace(graph.outputs[i], output_names_[i]);
  for (size_t i = 0; i < graph.constants.size(); ++i) {
    graph_constants_[graph.constants[i].first] = i;
    if (i < graph.constant_names.size()) taken_.insert(graph.constant_names[i]);
  }
}

void GraphWriter::find_makers() {
  makers_.resize(graph_.values.size());
  users_.resize(graph_.values.size());
  for (const GraphNode& n : graph_.nodes) {
    for (ValueId v : n.in)
      if (v >= 0) users_[size_t(v)].push_back(&n);
    for (ValueId v : n.out) makers_[size_t(v)] = &n;
  }
}

// What follows from an input with free extents, or from an integer that varies, may have another shape in each run.
void GraphWriter::find_varying() {
  varies_.resize(graph_.values.size());
  for (const FreeAxis& f : graph_.free_axes) varies_[size_t(graph_.inputs[size_t(f.input)])] = true;
  for (const GraphNode& n : graph_.nodes) {
    bool varies = !n.patches.empty() || n.op.info().kind == Kind::dynamic;
    for (ValueId v : n.in) varies |= v >= 0 && varies_[size_t(v)];
    for (ValueId v : n.out) varies_[size_t(v)] = varies_[size_t(v)] || varies;
  }
}

const std::string& GraphWriter::name(ValueId v) {
  static const std::string absent;
  if (v < 0) return absent;
  std::string& name = names_[size_t(v)];
  if (const auto it = graph_constants_.find(v); name.empty() && it != graph_constants_.end()) {
    const std::string& own = it->second < graph_.constant_names.size() ? graph_.constant_names[it->second] : name;
    const TensorHandle& t = graph_.constants[it->second].second;
    if (!own.empty()) constants_.push_back({own, t});
    name = own.empty() ? constant(t) : own;
  }
  return name;
}

std::string GraphWriter::fresh(const std::string& stem) {
  std::string name = stem;
  for (int64_t i = 1; !taken_.insert(name).second; ++i) name = stem + "_" + std::to_string(i);
  return name;
}

void GraphWriter::bind(ValueId v, const std::string& name) { names_[size_t(v)] = name; }

Names GraphWriter::add(const std::string& type, Names inputs, Attributes attributes, size_t results) {
  Names outputs;
  for (size_t i = 0; i < results; ++i) outputs.push_back(fresh(type));
  append(type, std::move(inputs), outputs, attributes);
  return outputs;
}

void GraphWriter::make(ValueId v, const std::string& type, Names inputs, Attributes attributes) {
  const auto wanted = wanted_.find(v);
  const std::string name = wanted != wanted_.end() ? wanted->second : fresh(type);
  if (wanted != wanted_.end()) wanted_.erase(wanted);  // an output that is written again is another value
  append(type, std::move(inputs), {name}, attributes);
  names_[size_t(v)] = name;
}

void GraphWriter::append(const std::string& type, Names inputs, const Names& outputs, const Attributes& attributes) {
  while (!inputs.empty() && inputs.back().empty()) inputs.pop_back();
  std::string bytes;
  protozero::pbf_writer node(bytes);
  for (const std::string& name : inputs) node.add_string(field::kNodeInput, name);
  for (const std::string& name : outputs) node.add_string(field::kNodeOutput, name);
  node.add_string(field::kNodeName, "/" + outputs[0]);
  node.add_string(field::kNodeType, type);
  for (const Attribute& a : attributes) node.add_message(field::kNodeAttribute, encoded(a));
  protozero::pbf_writer(nodes_).add_message(field::kGraphNode, bytes);
}

std::string GraphWriter::constant(const TensorHandle& t, const std::string& wanted_name) {
  constants_.push_back({fresh(wanted_name), t});
  return constants_.back().name;
}

std::string GraphWriter::number(const Scalar& value, DType dtype) {
  const std::string key = format("{} {} {}", value, int(value.kind()), dtype);
  std::string& name = known_[key];
  if (name.empty()) name = constant(fn::full(Dims{}, value, dtype, &host_device()), "number");
  return name;
}

std::string GraphWriter::integers(const std::vector<int64_t>& values) {
  std::string key = "integers";
  for (int64_t v : values) key += " " + std::to_string(v);
  std::string& name = known_[key];
  if (name.empty()) {
    const HostArray array{const_cast<int64_t*>(values.data()), {Shape{int64_t(values.size())}, DType::int64}};
    name = constant(from_host(host_device(), array), "integers");
  }
  return name;
}

std::string GraphWriter::shape_of(ValueId v) {
  const Shape& shape = meta(v).shape;
  if (has_fixed_shape(v)) return integers({shape.begin(), shape.end()});
  std::string& known = known_["shape " + name(v)];
  if (known.empty()) known = add("Shape", {name(v)});
  return known;
}

const ExtentExpression* GraphWriter::patch_of(const GraphNode& node, int64_t slot) const {
  for (const ExtentPatch& p : node.patches)
    if (p.slot == slot) return &p.value;
  return nullptr;
}

std::string GraphWriter::integers_of(const GraphNode& node, std::span<const int64_t> values, int64_t slot) {
  Names parts;
  std::vector<int64_t> fixed;
  const auto close = [&] {
    if (!fixed.empty()) parts.push_back(integers(fixed));
    fixed.clear();
  };
  for (size_t i = 0; i < values.size(); ++i) {
    const ExtentExpression* e = patch_of(node, slot + int64_t(i));
    if (!e) {
      fixed.push_back(values[i]);
      continue;
    }
    close();
    parts.push_back(computed(*e, node));
  }
  close();
  if (parts.empty()) return integers({});
  return parts.size() == 1 ? parts[0] : add("Concat", parts, {{"axis", int64_t(0)}});
}

std::string GraphWriter::dimension(const std::string& value, int64_t axis) {
  std::string& known = known_[format("dimension {} {}", axis, value)];
  if (known.empty()) known = add("Gather", {add("Shape", {value}), integers({axis})});
  return known;
}

// All numbers are 1-d tensors of one element.
std::string GraphWriter::computed(const ExtentExpression& e, const GraphNode& node) {
  using Kind = ExtentExpression::Kind;
  Names stack;
  for (const ExtentExpression::Term& t : e.terms()) {
    if (t.kind == Kind::constant) {
      stack.push_back(integers({t.a}));
    } else if (t.kind == Kind::extent) {
      const auto free = std::find_if(graph_.free_axes.begin(), graph_.free_axes.end(), [&](const FreeAxis& f) { return f.extent == t.a; });
      require<UnsupportedOp>(free != graph_.free_axes.end(), "{}: its sizes follow from values", node.op.info().name());
      stack.push_back(dimension(input_names_[size_t(free->input)], free->axis));
    } else if (t.kind == Kind::dimension) {
      stack.push_back(dimension(name(node.in[t.a]), t.b));
    } else {
      const std::string b = stack.back();
      stack.pop_back();
      std::string& a = stack.back();
      if (t.kind == Kind::add) a = add("Add", {a, b});
      else if (t.kind == Kind::multiply) a = add("Mul", {a, b});
      else if (t.kind == Kind::least) a = add("Min", {a, b});
      else if (t.kind == Kind::greatest) a = add("Max", {a, b});
      else a = add("Div", {add("Sub", {a, add("Mod", {a, b})}), b});  // Div alone rounds towards zero
    }
  }
  return stack.back();
}

std::vector<Extent> GraphWriter::sizes_of_input(size_t input) const {
  std::vector<Extent> sizes;
  for (const int64_t n : meta(graph_.inputs[input]).shape) sizes.push_back({n, ""});
  for (const FreeAxis& f : graph_.free_axes)
    if (size_t(f.input) == input) sizes[size_t(f.axis)] = {-1, graph_.extents[size_t(f.extent)]};
  return sizes;
}

std::string GraphWriter::value_info(const std::string& name, ValueId v, const std::optional<std::vector<Extent>>& sizes) const {
  std::string shape, tensor, type, info;
  protozero::pbf_writer shape_out(shape);
  for (int axis = 0; axis < meta(v).shape.rank(); ++axis) {
    std::string bytes;
    protozero::pbf_writer dimension(bytes);
    const Extent size = sizes ? (*sizes)[size_t(axis)] : Extent{has_fixed_shape(v) ? meta(v).shape[axis] : -1, ""};
    if (size.size >= 0) dimension.add_int64(field::kDimensionValue, size.size);
    else if (!size.name.empty()) dimension.add_string(field::kDimensionName, size.name);
    shape_out.add_message(field::kShapeDimension, bytes);
  }
  protozero::pbf_writer tensor_out(tensor);
  tensor_out.add_int32(field::kTensorTypeElement, int32_t(element_type_of(meta(v).dtype)));
  tensor_out.add_message(field::kTensorTypeShape, shape);
  protozero::pbf_writer(type).add_message(field::kTypeTensor, tensor);
  protozero::pbf_writer info_out(info);
  info_out.add_string(field::kValueName, name);
  info_out.add_message(field::kValueType, type);
  return info;
}

int64_t GraphWriter::constant_bytes() const {
  int64_t bytes = 0;
  for (const Constant& c : constants_) bytes += bytes_of(c.tensor.dtype(), c.tensor.numel());
  return bytes;
}

std::string GraphWriter::finish(const std::string& graph_name, std::string* external, const std::string& location) {
  constexpr size_t kExternal = 1024, kAlignment = 4096;
  for (size_t i = 0; i < graph_.outputs.size(); ++i)
    if (name(graph_.outputs[i]) != output_names_[i]) append("Identity", {name(graph_.outputs[i])}, {output_names_[i]}, {});
  std::string graph = nodes_;
  protozero::pbf_writer out(graph);
  out.add_string(field::kGraphName, graph_name);
  for (const Constant& c : constants_) {
    const std::vector<std::byte> elements = host_bytes(c.tensor);
    std::string bytes;
    protozero::pbf_writer tensor(bytes);
    for (int64_t d : c.tensor.shape()) tensor.add_int64(field::kTensorDims, d);
    tensor.add_int32(field::kTensorType, int32_t(element_type_of(c.tensor.dtype())));
    tensor.add_string(field::kTensorName, c.name);
    const auto* data = reinterpret_cast<const char*>(elements.data());
    if (external && elements.size() >= kExternal) {
      external->resize((external->size() + kAlignment - 1) / kAlignment * kAlignment);
      add_entry(tensor, "location", location);
      add_entry(tensor, "offset", std::to_string(external->size()));
      add_entry(tensor, "length", std::to_string(elements.size()));
      tensor.add_enum(field::kTensorLocation, 1);
      external->append(data, elements.size());
    } else {
      tensor.add_bytes(field::kTensorRaw, data, elements.size());
    }
    out.add_message(field::kGraphInitializer, bytes);
  }
  for (size_t i = 0; i < graph_.inputs.size(); ++i)
    out.add_message(field::kGraphInput, value_info(input_names_[i], graph_.inputs[i], sizes_of_input(i)));
  const auto shapes = output_shapes(graph_, output_names_);
  for (size_t i = 0; i < graph_.outputs.size(); ++i)
    out.add_message(field::kGraphOutput, value_info(output_names_[i], graph_.outputs[i], shapes[i]));

  std::string model, opset;
  protozero::pbf_writer opset_out(opset);
  opset_out.add_string(field::kOpsetDomain, "");
  opset_out.add_int64(field::kOpsetVersion, opset_);
  protozero::pbf_writer model_out(model);
  model_out.add_int64(field::kModelIrVersion, ir_version_of(opset_));
  model_out.add_string(field::kModelProducer, "pyburn");
  model_out.add_message(field::kModelGraph, graph);
  model_out.add_message(field::kModelOpset, opset);
  return model;
}

}  // namespace pyburn::onnx
