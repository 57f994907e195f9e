#include "pyburn/onnx/model_proto.h"

#include <algorithm>
#include <cstring>

#include "pyburn/onnx/tensor_proto.h"
#include "pyburn/support/error.h"

namespace pyburn::onnx {
namespace {

using protozero::data_view;
using protozero::pbf_message;
using protozero::pbf_tag_type;
using protozero::pbf_wire_type;
constexpr pbf_wire_type kBytes = pbf_wire_type::length_delimited, kVarint = pbf_wire_type::varint, kFixed32 = pbf_wire_type::fixed32;

enum class ModelField : pbf_tag_type {
  ir_version = 1,
  producer_name,
  producer_version,
  domain,
  model_version,
  doc,
  graph,
  opset_import,
  metadata = 14,
  functions = 25
};
enum class OpsetField : pbf_tag_type { domain = 1, version };
enum class EntryField : pbf_tag_type { key = 1, value };
enum class GraphField : pbf_tag_type { node = 1, name, initializer = 5, input = 11, output, value_info, sparse_initializer = 15 };
enum class NodeField : pbf_tag_type { input = 1, output, name, op_type, attribute, domain = 7, overload };
enum class AttributeField : pbf_tag_type {
  name = 1,
  f,
  i,
  s,
  t,
  g,
  floats,
  ints,
  strings,
  tensors,
  graphs,
  type_proto = 14,
  type_protos,
  type = 20,
  reference,
  sparse_tensor,
  sparse_tensors
};
enum class FunctionField : pbf_tag_type {
  name = 1,
  input = 4,
  output,
  attribute,
  node,
  opset_import = 9,
  domain,
  attribute_proto,
  overload = 13
};
enum class ValueField : pbf_tag_type { name = 1, type };
enum class TypeField : pbf_tag_type { tensor = 1, sequence = 4, map, optional = 9 };
enum class MapTypeField : pbf_tag_type { key = 1, value };
enum class TensorTypeField : pbf_tag_type { element_type = 1, shape };
enum class ShapeField : pbf_tag_type { dim = 1 };
enum class DimField : pbf_tag_type { value = 1, parameter };

// The standard domain has two names.
std::string domain_of(std::string text) { return text == "ai.onnx" ? std::string() : text; }

class Reader {
 public:
  explicit Reader(ReadContext& context) : context_(context) {}

  ModelDef model(data_view view) {
    ModelDef result;
    bool has_graph = false;
    pbf_message<ModelField> m(view);
    while (m.next()) switch (m.tag_and_type()) {
        case tag_and_type(ModelField::ir_version, kVarint):
          result.ir_version = m.get_int64();
          break;
        case tag_and_type(ModelField::model_version, kVarint):
          result.model_version = m.get_int64();
          break;
        case tag_and_type(ModelField::producer_name, kBytes):
          result.producer_name = m.get_string();
          break;
        case tag_and_type(ModelField::producer_version, kBytes):
          result.producer_version = m.get_string();
          break;
        case tag_and_type(ModelField::domain, kBytes):
          result.domain = m.get_string();
          break;
        case tag_and_type(ModelField::doc, kBytes):
          result.doc = m.get_string();
          break;
        case tag_and_type(ModelField::graph, kBytes):
          result.graph = graph(m.get_view()), has_graph = true;
          break;
        case tag_and_type(ModelField::opset_import, kBytes):
          opset(m.get_view(), result.opsets);
          break;
        case tag_and_type(ModelField::metadata, kBytes):
          entry(m.get_view(), result.metadata);
          break;
        case tag_and_type(ModelField::functions, kBytes):
          result.functions.push_back(function(m.get_view()));
          break;
        default:
          m.skip();
      }
    require<FormatError>(has_graph, "[onnx] not an ONNX model: there is no graph");
    return result;
  }

  FunctionDef function(data_view view) {
    const ReadContext::Nested nested(context_);
    context_.count();
    FunctionDef f;
    pbf_message<FunctionField> m(view);
    while (m.next()) switch (m.tag_and_type()) {
        case tag_and_type(FunctionField::name, kBytes):
          f.name = m.get_string();
          break;
        case tag_and_type(FunctionField::domain, kBytes):
          f.domain = domain_of(m.get_string());
          break;
        case tag_and_type(FunctionField::overload, kBytes):
          f.overload = m.get_string();
          break;
        case tag_and_type(FunctionField::input, kBytes):
          f.inputs.push_back(text(m.get_view()));
          break;
        case tag_and_type(FunctionField::output, kBytes):
          f.outputs.push_back(text(m.get_view()));
          break;
        case tag_and_type(FunctionField::attribute_proto, kBytes):
          f.attributes.push_back(attribute(m.get_view()));
          break;
        case tag_and_type(FunctionField::node, kBytes):
          f.nodes.push_back(node(m.get_view()));
          break;
        case tag_and_type(FunctionField::opset_import, kBytes):
          opset(m.get_view(), f.opsets);
          break;
        default:
          m.skip();
      }
    return f;
  }

 private:
  std::string text(data_view view) {
    context_.count();
    return {view.data(), view.size()};
  }

  void opset(data_view view, OpsetImports& into) {
    context_.count();
    std::string domain;
    int64_t version = 0;
    pbf_message<OpsetField> m(view);
    while (m.next()) switch (m.tag_and_type()) {
        case tag_and_type(OpsetField::domain, kBytes):
          domain = domain_of(m.get_string());
          break;
        case tag_and_type(OpsetField::version, kVarint):
          version = m.get_int64();
          break;
        default:
          m.skip();
      }
    into[domain] = version;
  }

  void entry(data_view view, std::map<std::string, std::string>& into) {
    context_.count();
    std::string key, value;
    pbf_message<EntryField> m(view);
    while (m.next()) switch (m.tag_and_type()) {
        case tag_and_type(EntryField::key, kBytes):
          key = m.get_string();
          break;
        case tag_and_type(EntryField::value, kBytes):
          value = m.get_string();
          break;
        default:
          m.skip();
      }
    into[key] = value;
  }

  GraphDef graph(data_view view) {
    const ReadContext::Nested nested(context_);
    context_.count();
    GraphDef g;
    pbf_message<GraphField> m(view);
    while (m.next()) switch (m.tag_and_type()) {
        case tag_and_type(GraphField::name, kBytes):
          g.name = m.get_string();
          break;
        case tag_and_type(GraphField::node, kBytes):
          g.nodes.push_back(node(m.get_view()));
          break;
        case tag_and_type(GraphField::initializer, kBytes):
          g.initializers.push_back(tensor(m.get_view()));
          break;
        case tag_and_type(GraphField::sparse_initializer, kBytes):
          context_.count();
          g.initializers.push_back(read_sparse_tensor(m.get_view(), context_));
          break;
        case tag_and_type(GraphField::input, kBytes):
          g.inputs.push_back(value(m.get_view()));
          break;
        case tag_and_type(GraphField::output, kBytes):
          g.outputs.push_back(value(m.get_view()));
          break;
        case tag_and_type(GraphField::value_info, kBytes):
          g.values.push_back(value(m.get_view()));
          break;
        default:
          m.skip();
      }
    return g;
  }

  NodeDef node(data_view view) {
    context_.count();
    NodeDef n;
    pbf_message<NodeField> m(view);
    while (m.next()) switch (m.tag_and_type()) {
        case tag_and_type(NodeField::input, kBytes):
          n.inputs.push_back(text(m.get_view()));
          break;
        case tag_and_type(NodeField::output, kBytes):
          n.outputs.push_back(text(m.get_view()));
          break;
        case tag_and_type(NodeField::name, kBytes):
          n.name = m.get_string();
          break;
        case tag_and_type(NodeField::op_type, kBytes):
          n.op_type = m.get_string();
          break;
        case tag_and_type(NodeField::domain, kBytes):
          n.domain = domain_of(m.get_string());
          break;
        case tag_and_type(NodeField::overload, kBytes):
          n.overload = m.get_string();
          break;
        case tag_and_type(NodeField::attribute, kBytes):
          n.attributes.push_back(attribute(m.get_view()));
          break;
        default:
          m.skip();
      }
    return n;
  }

  AttributeDef attribute(data_view view) {
    const ReadContext::Nested nested(context_);
    context_.count();
    AttributeDef a;
    int64_t kind = 0;
    pbf_message<AttributeField> m(view);
    while (m.next()) switch (m.tag_and_type()) {
        case tag_and_type(AttributeField::name, kBytes):
          a.name = m.get_string();
          break;
        case tag_and_type(AttributeField::reference, kBytes):
          a.reference = m.get_string();
          break;
        case tag_and_type(AttributeField::type, kVarint):
          kind = m.get_int32();
          break;
        case tag_and_type(AttributeField::f, kFixed32):
          a.f = m.get_float();
          break;
        case tag_and_type(AttributeField::i, kVarint):
          a.i = m.get_int64();
          break;
        case tag_and_type(AttributeField::s, kBytes):
          a.s = m.get_bytes();
          break;
        case tag_and_type(AttributeField::t, kBytes):
        case tag_and_type(AttributeField::tensors, kBytes):
          a.tensors.push_back(tensor(m.get_view()));
          break;
        case tag_and_type(AttributeField::sparse_tensor, kBytes):
        case tag_and_type(AttributeField::sparse_tensors, kBytes):
          context_.count();
          a.tensors.push_back(read_sparse_tensor(m.get_view(), context_));
          break;
        case tag_and_type(AttributeField::g, kBytes):
        case tag_and_type(AttributeField::graphs, kBytes):
          a.graphs.push_back(std::make_shared<const GraphDef>(graph(m.get_view())));
          break;
        case tag_and_type(AttributeField::type_proto, kBytes):
        case tag_and_type(AttributeField::type_protos, kBytes):
          a.types.push_back(type(m.get_view()));
          break;
        case tag_and_type(AttributeField::floats, kFixed32):
          a.reals.push_back(m.get_float());
          break;
        case tag_and_type(AttributeField::floats, kBytes):
          for (const float v : m.get_packed_float()) a.reals.push_back(v);
          break;
        case tag_and_type(AttributeField::ints, kVarint):
          a.integers.push_back(m.get_int64());
          break;
        case tag_and_type(AttributeField::ints, kBytes):
          for (const int64_t v : m.get_packed_int64()) a.integers.push_back(v);
          break;
        case tag_and_type(AttributeField::strings, kBytes):
          a.texts.push_back(text(m.get_view()));
          break;
        default:
          m.skip();
      }
    require<FormatError>(
        kind >= 0 && kind <= int64_t(AttributeDef::Kind::types), "[onnx] no such type of attribute '{}': got {}", a.name, kind);
    a.kind = AttributeDef::Kind(kind);
    using Kind = AttributeDef::Kind;
    if (a.reference.empty()) {
      require<FormatError>(
          !((a.kind == Kind::tensor || a.kind == Kind::sparse_tensor) && a.tensors.empty()), "[onnx] attribute '{}' has no tensor", a.name);
      require<FormatError>(!(a.kind == Kind::graph && a.graphs.empty()), "[onnx] attribute '{}' has no graph", a.name);
    }
    return a;
  }

  TensorDef tensor(data_view view) {
    context_.count();
    return read_tensor(view, context_);
  }

  ValueInfo value(data_view view) {
    context_.count();
    ValueInfo v;
    pbf_message<ValueField> m(view);
    while (m.next()) switch (m.tag_and_type()) {
        case tag_and_type(ValueField::name, kBytes):
          v.name = m.get_string();
          break;
        case tag_and_type(ValueField::type, kBytes):
          v.type = type(m.get_view());
          break;
        default:
          m.skip();
      }
    return v;
  }

  TypeDef type(data_view view) {
    const ReadContext::Nested nested(context_);
    context_.count();
    TypeDef t;
    pbf_message<TypeField> m(view);
    while (m.next()) switch (m.tag_and_type()) {
        case tag_and_type(TypeField::tensor, kBytes):
          t.kind = TypeDef::Kind::tensor, tensor_type(m.get_view(), t);
          break;
        case tag_and_type(TypeField::sequence, kBytes):
          t.kind = TypeDef::Kind::sequence, t.of = inner_type(m.get_view());
          break;
        case tag_and_type(TypeField::optional, kBytes):
          t.kind = TypeDef::Kind::optional, t.of = inner_type(m.get_view());
          break;
        case tag_and_type(TypeField::map, kBytes):
          t.kind = TypeDef::Kind::map, map_type(m.get_view(), t);
          break;
        default:
          m.skip();
      }
    return t;
  }

  std::shared_ptr<TypeDef> inner_type(data_view view) {
    std::shared_ptr<TypeDef> t;
    pbf_message<ShapeField> m(view);  // its only field has the same number
    while (m.next()) switch (m.tag_and_type()) {
        case tag_and_type(ShapeField::dim, kBytes):
          t = std::make_shared<TypeDef>(type(m.get_view()));
          break;
        default:
          m.skip();
      }
    return t;
  }

  void map_type(data_view view, TypeDef& t) {
    pbf_message<MapTypeField> m(view);
    while (m.next()) switch (m.tag_and_type()) {
        case tag_and_type(MapTypeField::key, kVarint):
          t.element_type = known_type(m.get_int32());
          break;
        case tag_and_type(MapTypeField::value, kBytes):
          t.of = std::make_shared<TypeDef>(type(m.get_view()));
          break;
        default:
          m.skip();
      }
  }

  static ElementType known_type(int32_t type) {
    if (type != 0) element_type_info(type);
    return ElementType(type);
  }

  void tensor_type(data_view view, TypeDef& t) {
    pbf_message<TensorTypeField> m(view);
    while (m.next()) switch (m.tag_and_type()) {
        case tag_and_type(TensorTypeField::element_type, kVarint):
          t.element_type = known_type(m.get_int32());
          break;
        case tag_and_type(TensorTypeField::shape, kBytes):
          t.extents = shape(m.get_view());
          break;
        default:
          m.skip();
      }
  }

  std::vector<Extent> shape(data_view view) {
    std::vector<Extent> extents;
    pbf_message<ShapeField> m(view);
    while (m.next()) switch (m.tag_and_type()) {
        case tag_and_type(ShapeField::dim, kBytes): {
          require<FormatError>(extents.size() < kMaxRank, "[onnx] a tensor has more than {} dimensions", kMaxRank);
          Extent& e = extents.emplace_back();
          pbf_message<DimField> d(m.get_view());
          while (d.next()) switch (d.tag_and_type()) {
              case tag_and_type(DimField::value, kVarint):
                e.size = std::max<int64_t>(d.get_int64(), -1);
                break;
              case tag_and_type(DimField::parameter, kBytes):
                e.name = d.get_string();
                break;
              default:
                d.skip();
            }
          break;
        }
        default:
          m.skip();
      }
    return extents;
  }

  ReadContext& context_;
};

data_view view_of(const io::SharedBytes& bytes) { return {reinterpret_cast<const char*>(bytes.view().data()), bytes.size()}; }

// Errors of protozero, which speak of bytes and tags, become one of ours.
template <class Read>
auto reading(const char* what, const Read& read) {
  try {
    return read();
  } catch (const protozero::exception& e) {
    fail<FormatError>("[onnx] not {}: the file is damaged or of another format ({})", what, e.what());
  }
}

ModelDef read_model_in(const io::SharedBytes& bytes, const std::filesystem::path& folder) {
  return reading("an ONNX model", [&] {
    ReadContext context(bytes, folder);
    ModelDef model = Reader(context).model(view_of(bytes));
    model.file = bytes;
    return model;
  });
}

}  // namespace

const AttributeDef* NodeDef::find(std::string_view attribute) const {
  for (const AttributeDef& a : attributes)
    if (a.name == attribute) return &a;
  return nullptr;
}

std::string to_text(const TypeDef& t) {
  switch (t.kind) {
    case TypeDef::Kind::unknown:
      return "unknown";
    case TypeDef::Kind::map:
      return format("map of {} to {}",
          t.element_type == ElementType::undefined ? "unknown" : element_type_info(int64_t(t.element_type)).name,
          t.of ? to_text(*t.of) : std::string("unknown"));
    case TypeDef::Kind::sequence:
      return "sequence of " + (t.of ? to_text(*t.of) : std::string("unknown"));
    case TypeDef::Kind::optional:
      return "optional " + (t.of ? to_text(*t.of) : std::string("unknown"));
    case TypeDef::Kind::tensor:
      break;
  }
  std::string text(t.element_type == ElementType::undefined ? "tensor" : element_type_info(int64_t(t.element_type)).name);
  if (!t.extents) return text;
  text += " [";
  for (const Extent& e : *t.extents) {
    if (text.back() != '[') text += ", ";
    text += e.size >= 0 ? std::to_string(e.size) : e.name.empty() ? "?" : e.name;
  }
  return text + "]";
}

ModelDef read_model(const std::filesystem::path& path) {
  const std::filesystem::path folder = path.parent_path();
  return read_model_in(io::SharedBytes::of_file(path), folder.empty() ? std::filesystem::path(".") : folder);
}
ModelDef read_model(const io::SharedBytes& bytes) { return read_model_in(bytes, {}); }

TensorDef read_tensor(const io::SharedBytes& bytes) {
  return reading("a tensor of ONNX", [&] {
    ReadContext context(bytes, {});
    return read_tensor(view_of(bytes), context);
  });
}

std::vector<FunctionDef> read_functions(const io::SharedBytes& bytes) {
  return reading("a list of functions", [&] {
    std::vector<FunctionDef> functions;
    ReadContext context(bytes, {});
    for (size_t at = 0; at + 4 <= bytes.size();) {
      uint32_t size;
      std::memcpy(&size, bytes.view().data() + at, 4);
      at += 4;
      require<FormatError>(size <= bytes.size() - at, "[onnx] the list of functions ends too early");
      functions.push_back(Reader(context).function(view_of(bytes.part(at, size))));
      at += size;
    }
    return functions;
  });
}

}  // namespace pyburn::onnx
