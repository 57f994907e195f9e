// The table of operations as Python data: tests and tools walk it.
#include <nanobind/stl/string.h>

#include "objects.h"
#include "pyburn/ir/op_info.h"
#include "pyburn/support/fault.h"

namespace nb = nanobind;

namespace pyburn::python {
namespace {

constexpr const char* kKinds[] = {"elementwise", "reduce", "view", "contract", "gather", "random", "fill", "dynamic", "update", "opaque"};

nb::object text(const char* s) { return s ? nb::object(nb::str(s)) : nb::none(); }

}  // namespace

void bind_op_table(nb::module_& m) {
  m.def("_op_table", [] {
    nb::list rows;
    for (const OpInfo* op : OpTable::global().rows()) {
      nb::dict row;
      row["name"] = std::string(op->name());
      row["row"] = true;
      row["schema"] = op->schema, row["doc"] = op->doc, row["kind"] = kKinds[int(op->kind)];
      row["torch"] = text(op->torch), row["example"] = text(op->example), row["samples"] = text(op->samples),
      row["no_grad"] = text(op->no_grad);
      row["has_grad"] = op->grad != nullptr, row["has_decomposition"] = op->decompose != nullptr;
      row["has_infer"] = op->infer != nullptr || op->view != nullptr;
      row["in_place"] = op->in_place, row["out"] = false;
      rows.append(row);
    }
    for (const FunctionInfo* f : OpTable::global().functions()) {
      nb::dict row;
      row["name"] = std::string(f->name());
      row["row"] = false;
      row["schema"] = f->schema, row["doc"] = f->doc, row["kind"] = "composite";
      row["torch"] = text(f->torch), row["example"] = text(f->example), row["samples"] = text(f->samples), row["no_grad"] = nb::none();
      row["has_grad"] = false, row["has_decomposition"] = true, row["has_infer"] = true;
      row["in_place"] = f->in_place, row["out"] = f->out;
      rows.append(row);
    }
    return rows;
  });
  m.def("_plant_fault", [](const std::string& name) { planted_fault = fault_named(name); });
  m.def("_supports", [](nb::handle device, const std::string& name, nb::handle dtype) {
    const OpInfo* op = OpTable::global().find(name);
    return op && to_device(device.ptr()).leaf().known_support(*op, to_dtype(dtype.ptr())) != KernelSupport::none;
  });
}

}  // namespace pyburn::python
