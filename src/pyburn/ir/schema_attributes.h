// Attributes described only by a schema: for rows created at run time, which have no C++ struct.
#pragma once
#include <memory>
#include <variant>
#include <vector>

#include "pyburn/ir/fields.h"
#include "pyburn/ir/schema.h"

namespace pyburn {

// std::monostate: None.
using AttributeValue = std::variant<std::monostate, bool, int64_t, double, std::string, DType, Dims, Numbers, Scalar>;

struct SchemaField {
  std::string name;
  ParameterType type;
};

// Fields are the arguments of the schema except tensors and devices.
struct SchemaAttrType : AttrType {
  explicit SchemaAttrType(std::string_view schema);  // ValueError for types that attributes do not support
  std::vector<SchemaField> fields;
};

struct SchemaAttributes {
  const SchemaAttrType* type;
  std::vector<AttributeValue> values;  // one per field
  bool operator==(const SchemaAttributes&) const = default;
};

}  // namespace pyburn
