// What is in an .onnx file, as plain structs. Files are untrusted: every size is checked before it is used, nesting is bounded, and
// whatever does not fit is a FormatError.
#pragma once
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "pyburn/io/shared_bytes.h"
#include "pyburn/onnx/element_type.h"
#include "pyburn/tensor/shape.h"

namespace pyburn::onnx {

struct GraphDef;

struct TensorDef {
  std::string name;
  ElementType type = ElementType::undefined;
  Shape shape;
  io::SharedBytes bytes;             // of the elements, in row-major order: a part of the file where it lies there as it is
  std::vector<std::string> strings;  // of a tensor of strings
};

struct Extent {
  int64_t size = -1;  // -1: not known
  std::string name;   // of a size that is not known
};
struct TypeDef {
  enum class Kind : uint8_t { unknown, tensor, sequence, optional, map };
  Kind kind = Kind::unknown;
  ElementType element_type = ElementType::undefined;  // of a tensor, or of the keys of a map
  std::optional<std::vector<Extent>> extents;         // of a tensor, where its rank is known
  std::shared_ptr<TypeDef> of;                        // what a sequence or an optional holds, and the values of a map
};
std::string to_text(const TypeDef&);  // "float32 [batch, 3, 224, 224]"

struct ValueInfo {
  std::string name;
  TypeDef type;
};

struct AttributeDef {
  enum class Kind : uint8_t {
    none,
    real,
    integer,
    text,
    tensor,
    graph,
    reals,
    integers,
    texts,
    tensors,
    graphs,
    sparse_tensor,
    sparse_tensors,
    type,
    types,
  };
  std::string name;
  Kind kind = Kind::none;
  float f = 0;
  int64_t i = 0;
  std::string s;
  std::vector<float> reals;
  std::vector<int64_t> integers;
  std::vector<std::string> texts;
  std::vector<TensorDef> tensors;                       // one of a single tensor; sparse ones are dense here
  std::vector<std::shared_ptr<const GraphDef>> graphs;  // one of a single graph
  std::vector<TypeDef> types;
  std::string reference;  // in the body of a function: the attribute of the call that stands here
};

struct NodeDef {
  std::string name, op_type, domain, overload;  // the standard domain is the empty string
  std::vector<std::string> inputs, outputs;     // an empty name: not given, not wanted
  std::vector<AttributeDef> attributes;
  const AttributeDef* find(std::string_view attribute) const;
};

struct GraphDef {
  std::string name;
  std::vector<NodeDef> nodes;
  std::vector<TensorDef> initializers;  // sparse ones are dense here
  std::vector<ValueInfo> inputs, outputs, values;
};

using OpsetImports = std::map<std::string, int64_t, std::less<>>;  // the version of each domain

struct FunctionDef {
  std::string name, domain, overload;
  std::vector<std::string> inputs, outputs;
  std::vector<AttributeDef> attributes;  // those with a default value
  std::vector<NodeDef> nodes;
  OpsetImports opsets;
};

struct ModelDef {
  int64_t ir_version = 0, model_version = 0;
  std::string producer_name, producer_version, domain, doc;
  std::map<std::string, std::string> metadata;
  OpsetImports opsets;
  GraphDef graph;
  std::vector<FunctionDef> functions;
  io::SharedBytes file;  // the whole of it, which tensors are parts of
};

// Maps the file into memory. Tensors outside of it (external data) are looked for in its folder, and nowhere else.
ModelDef read_model(const std::filesystem::path& path);
ModelDef read_model(const io::SharedBytes& bytes);  // without external data
// One tensor, as in the .pb files of ONNX's own tests.
TensorDef read_tensor(const io::SharedBytes& bytes);
// The functions of a list of serialised ones, each after its length in 4 bytes.
std::vector<FunctionDef> read_functions(const io::SharedBytes& bytes);

}  // namespace pyburn::onnx
