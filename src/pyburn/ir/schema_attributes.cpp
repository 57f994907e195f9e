#include "pyburn/ir/schema_attributes.h"

#include "pyburn/support/error.h"

namespace pyburn {
namespace {

SchemaAttributes& of(void* attrs) { return *static_cast<SchemaAttributes*>(attrs); }
const SchemaAttributes& of(const void* attrs) { return *static_cast<const SchemaAttributes*>(attrs); }

// A value of a type in a schema, such as 0 for "int".
AttributeValue blank(ParameterType type) {
  switch (type) {
    case ParameterType::integer:
      return int64_t(0);
    case ParameterType::dims:
      return Dims();
    case ParameterType::number:
      return 0.0;
    case ParameterType::numbers:
      return Numbers();
    case ParameterType::boolean:
      return false;
    case ParameterType::text:
      return std::string();
    case ParameterType::dtype:
      return DType::float32;
    case ParameterType::scalar:
    case ParameterType::operand:
      return Scalar();
    default:
      return std::monostate();
  }
}

// The present value of a field through `use`, with its own type.
void use_value(auto& value, auto use) {
  std::visit(
      [&](auto& v) {
        if constexpr (!std::is_same_v<std::remove_cvref_t<decltype(v)>, std::monostate>) use(v);
      },
      value);
}

void visit_values(const void* attrs, FieldVisitor& visitor) {
  const SchemaAttributes& a = of(attrs);
  for (size_t i = 0; i < a.values.size(); ++i) {
    const auto& [name, type] = a.type->fields[i];
    const bool given = !std::holds_alternative<std::monostate>(a.values[i]);
    if (type == ParameterType::optional_scalar) {
      visitor.field(name, given ? std::optional(std::get<Scalar>(a.values[i])) : std::nullopt);
      continue;
    }
    if (is_optional(type)) visitor.optional(name, given);
    use_value(a.values[i], [&, &name = name](const auto& v) { visitor.field(name, v); });  // clang 14 captures no structured bindings
  }
}

void edit_values(void* attrs, FieldEditor& editor) {
  SchemaAttributes& a = of(attrs);
  for (size_t i = 0; i < a.values.size(); ++i) {
    const auto& [name, type] = a.type->fields[i];
    AttributeValue& value = a.values[i];
    const bool given = !std::holds_alternative<std::monostate>(value);
    if (type == ParameterType::optional_scalar) {
      std::optional<Scalar> number = given ? std::optional(std::get<Scalar>(value)) : std::nullopt;
      editor.field(name, number);
      value = number ? AttributeValue(*number) : AttributeValue();
      continue;
    }
    if (is_optional(type)) {
      if (!editor.optional(name, given)) {
        value = std::monostate();
        continue;
      }
      if (!given) value = blank(required_form(type));
    }
    use_value(value, [&, &name = name](auto& v) { editor.field(name, v); });
  }
}

}  // namespace

SchemaAttrType::SchemaAttrType(std::string_view schema)
    : AttrType{sizeof(SchemaAttributes), alignof(SchemaAttributes),
          [](const AttrType& type, void* at) {
            const auto& t = static_cast<const SchemaAttrType&>(type);
            auto* attributes = new (at) SchemaAttributes{&t, {}};
            for (const SchemaField& f : t.fields) attributes->values.push_back(is_optional(f.type) ? AttributeValue() : blank(f.type));
          },
          [](void* to, const void* from) { new (to) SchemaAttributes(of(from)); }, [](void* at) noexcept { of(at).~SchemaAttributes(); },
          [](const void* a, const void* b) { return of(a) == of(b); }, visit_values, edit_values} {
  SchemaParameters parameters(schema);
  for (SchemaParameter p; parameters.next(p);) {
    if (p.type == ParameterType::operand || p.type == ParameterType::optional_generator)
      fail<ValueError>("[schema] {} is a type for built-in operations alone: got '{}' in '{}'", name_of(p.type), p.name, schema);
    if (!takes_tensors(p.type) && p.type != ParameterType::optional_device) fields.push_back({std::string(p.name), p.type});
  }
}

}  // namespace pyburn
