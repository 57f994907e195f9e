#include "pyburn/ir/schema.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <iterator>
#include <string>

#include "pyburn/support/error.h"

namespace pyburn {
namespace {

constexpr std::string_view kTypes[] = {"Tensor", "Tensor?", "Tensor[]", "Tensor|Scalar", "Scalar", "Scalar?", "int", "int?", "int[]",
    "int[]?", "float", "float?", "float[]", "float[]?", "bool", "bool?", "str", "str?", "DType", "DType?", "Device?", "Generator?"};
static_assert(std::size(kTypes) == size_t(ParameterType::optional_generator) + 1);

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_name(std::string_view s) {
  return !s.empty() && is_letter(s[0]) && std::all_of(s.begin(), s.end(), [](char c) { return is_letter(c) || is_digit(c); });
}
// "max", "max.dim", "package::max"
bool is_operation_name(std::string_view s) {
  if (const size_t colons = s.find("::"); colons != s.npos) {
    if (!is_name(s.substr(0, colons))) return false;
    s.remove_prefix(colons + 2);
  }
  const size_t dot = s.find('.');
  return is_name(s.substr(0, dot)) && (dot == s.npos || is_name(s.substr(dot + 1)));
}

[[noreturn]] void refuse(std::string_view schema, std::string_view what, std::string_view got) {
  fail<ValueError>("[schema] {}: got '{}' in '{}'", what, got, schema);
}

bool is_number(std::string_view s, bool whole) {
  const std::string text(s);
  char* end = nullptr;
  if (whole) std::strtoll(text.c_str(), &end, 10);
  else std::strtod(text.c_str(), &end);
  return !text.empty() && end == text.c_str() + text.size() && (is_digit(text.back()) || text.back() == '.');
}
// "(1, 2)" and one number alike.
bool is_list(std::string_view s, bool whole) {
  if (s.empty() || s.front() != '(') return is_number(s, whole);
  if (s.back() != ')') return false;
  for (s = s.substr(1, s.size() - 2); !s.empty();) {
    const size_t comma = s.find(',');
    if (!is_number(s.substr(0, comma), whole)) return false;
    s.remove_prefix(comma == s.npos ? s.size() : comma + 1);
  }
  return true;
}

bool is_default_of(ParameterType type, std::string_view s) {
  if (s == "None") return is_optional(type);
  switch (required_form(type)) {
    case ParameterType::operand:
    case ParameterType::scalar:
      return is_number(s, false) || s == "True" || s == "False";
    case ParameterType::number:
      return is_number(s, false);
    case ParameterType::integer:
      return is_number(s, true);
    case ParameterType::dims:
      return is_list(s, true);
    case ParameterType::numbers:
      return is_list(s, false);
    case ParameterType::boolean:
      return s == "True" || s == "False";
    case ParameterType::text:
      return s.size() >= 2 && s.front() == '\'' && s.back() == '\'' && s.substr(1, s.size() - 2).find_first_of("'\\") == s.npos;
    default:
      return false;
  }
}

}  // namespace

std::string_view name_of(ParameterType t) { return kTypes[size_t(t)]; }
bool is_optional(ParameterType t) { return name_of(t).ends_with('?'); }
ParameterType required_form(ParameterType t) {
  if (!is_optional(t) || t >= ParameterType::optional_device) return t;
  return ParameterType(uint8_t(t) - 1);  // the table names them in pairs
}

SchemaParameters::SchemaParameters(std::string_view schema) : schema_(schema) {
  const size_t open = schema.find('('), close = schema.find(") -> ");
  if (open == schema.npos || close == schema.npos || close < open)
    fail<ValueError>("[schema] expected 'name(Type argument, ...) -> Tensor': got '{}'", schema);
  rest_ = schema.substr(open + 1, close - open - 1);
}

bool SchemaParameters::next(SchemaParameter& p) {
  if (rest_.empty()) return false;
  const size_t comma = rest_.find(", ");
  const std::string_view part = rest_.substr(0, comma);
  rest_.remove_prefix(comma == rest_.npos ? rest_.size() : comma + 2);
  if (part == "*") {
    if (keyword_only_ || rest_.empty()) refuse(schema_, "expected one '*', before the keyword-only arguments", part);
    keyword_only_ = true;
    return next(p);
  }
  const size_t equals = part.find('='), space = part.substr(0, equals).rfind(' ');
  const std::string_view type = part.substr(0, std::min(space, part.size()));
  const auto* found = std::find(std::begin(kTypes), std::end(kTypes), type);
  if (found == std::end(kTypes)) refuse(schema_, "unknown type of an argument", part);
  p.type = ParameterType(found - kTypes);
  p.name = part.substr(space + 1, equals == part.npos ? part.npos : equals - space - 1);
  p.standard = equals == part.npos ? std::string_view() : part.substr(equals + 1);
  p.keyword_only = keyword_only_;
  if (space == part.npos || !is_name(p.name)) refuse(schema_, "an argument has no name", part);
  if (equals != part.npos && p.standard.empty()) refuse(schema_, "a default is missing", part);
  return true;
}

std::string_view results_in(std::string_view schema) {
  const size_t arrow = schema.find(") -> ");
  return arrow == schema.npos ? std::string_view() : schema.substr(arrow + 5);
}

int result_count(std::string_view schema) {
  const std::string_view results = results_in(schema);
  return results == "Tensor[]" ? -1 : 1 + int(std::count(results.begin(), results.end(), ','));
}

void check_schema(std::string_view schema) {
  SchemaParameters parameters(schema);
  const std::string_view name = schema.substr(0, schema.find('('));
  if (!is_operation_name(name)) refuse(schema, "expected the name of an operation", name);
  std::array<std::string_view, kMostParameters> seen;
  int count = 0;
  bool defaults = false;
  for (SchemaParameter p; parameters.next(p); ++count) {
    if (count == kMostParameters) refuse(schema, format("more than {} arguments", kMostParameters), p.name);
    if (std::find(seen.begin(), seen.begin() + count, p.name) != seen.begin() + count)
      refuse(schema, "two arguments have the same name", p.name);
    seen[size_t(count)] = p.name;
    if (!p.standard.empty() && !is_default_of(p.type, p.standard))
      refuse(schema, format("the default of '{}' is not of type {}", p.name, name_of(p.type)), p.standard);
    if (!p.keyword_only && defaults && p.standard.empty()) refuse(schema, "an argument without a default follows one with it", p.name);
    defaults |= !p.standard.empty();
  }
  std::string_view results = results_in(schema);
  if (results == "Tensor" || results == "Tensor[]") return;
  if (results.front() != '(' || results.back() != ')' || results.find(',') == results.npos)
    refuse(schema, "expected Tensor, Tensor[] or (Tensor name, ...) after the arrow", results);
  for (results = results.substr(1, results.size() - 2);;) {
    const size_t comma = results.find(", ");
    const std::string_view one = results.substr(0, comma);
    if (!one.starts_with("Tensor ") || !is_name(one.substr(7))) refuse(schema, "expected 'Tensor name' for each of several results", one);
    if (comma == results.npos) return;
    results.remove_prefix(comma + 2);
  }
}

}  // namespace pyburn
