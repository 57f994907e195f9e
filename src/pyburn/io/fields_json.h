// Structs with PB_FIELDS as JSON and back: the options of layers and models in files.
#pragma once
#include <string>
#include <string_view>

#include "pyburn/ir/fields.h"

namespace pyburn::io {

std::string fields_to_json(const AttrType& type, const void* fields, int indent = -1);
// Keys that are absent leave their field as it is. FormatError says which field has what instead of what, and which one a
// key that does not exist may have meant.
void fields_from_json(const AttrType& type, void* fields, std::string_view json);

template <class A>
std::string to_json(const A& a, int indent = -1) {
  return fields_to_json(attr_type<A>, &a, indent);
}
template <class A>
A from_json(std::string_view json) {
  A a;
  fields_from_json(attr_type<A>, &a, json);
  return a;
}

}  // namespace pyburn::io
