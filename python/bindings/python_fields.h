// Converts structs with PB_FIELDS to Python dicts and back.
#pragma once
#include <nanobind/nanobind.h>

#include "pyburn/ir/fields.h"

namespace pyburn::python {

nanobind::dict fields_to_dict(const AttrType& type, const void* fields);
nanobind::object field_object(const AttrType& type, const void* fields, std::string_view name);  // null if there is no field of that name
nanobind::dict field_types(const AttrType& type, const void* fields);  // the type of each field, for type checkers
// Sets the fields that the dict names; others keep their value. TypeError for invalid values.
void fields_from_dict(const AttrType& type, void* fields, nanobind::handle dict);

}  // namespace pyburn::python
