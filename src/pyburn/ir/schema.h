// Schemas: "add(Tensor|Scalar input, Tensor|Scalar other, *, Scalar alpha=1) -> Tensor" defines the arguments and results.
#pragma once
#include <cstdint>
#include <string_view>

namespace pyburn {

enum class ParameterType : uint8_t {
  tensor,
  optional_tensor,
  tensors,
  operand,
  scalar,
  optional_scalar,
  integer,
  optional_integer,
  dims,
  optional_dims,
  number,
  optional_number,
  numbers,
  optional_numbers,
  boolean,
  optional_boolean,
  text,
  optional_text,
  dtype,
  optional_dtype,
  optional_device,
  optional_generator,
};

constexpr bool takes_tensors(ParameterType t) { return t <= ParameterType::operand; }
std::string_view name_of(ParameterType);     // "int[]?"
bool is_optional(ParameterType);             // may it be None?
ParameterType required_form(ParameterType);  // "int" for "int?"

struct SchemaParameter {
  ParameterType type;
  std::string_view name, standard;  // the default value as written; empty for required arguments
  bool keyword_only;
};

constexpr int kMostParameters = 16;

// Parses the parameters of a schema. ValueError points at the invalid part.
class SchemaParameters {
 public:
  explicit SchemaParameters(std::string_view schema);
  bool next(SchemaParameter&);

 private:
  std::string_view schema_, rest_;
  bool keyword_only_ = false;
};

// The part after the arrow: "Tensor", "Tensor[]", "bool", "(Tensor values, Tensor indices)".
std::string_view results_in(std::string_view schema);
int result_count(std::string_view schema);  // -1: any number of them

// ValueError unless this is a valid schema whose defaults match their types.
void check_schema(std::string_view schema);

}  // namespace pyburn
