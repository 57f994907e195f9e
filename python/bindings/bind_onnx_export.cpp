// Graphs as ONNX models, for Python.
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "graph_object.h"
#include "objects.h"
#include "pyburn/inference/onnx_export.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace pyburn::python {
namespace {

onnx::ExportOptions options_of(
    int64_t opset, std::vector<std::string> inputs, std::vector<std::string> outputs, const std::string& name, bool external_data) {
  return {opset, std::move(inputs), std::move(outputs), name, external_data};
}

}  // namespace

void bind_onnx_export(nb::module_& m) {
  m.def("_onnx_bytes", [](const GraphObject& g, nb::handle device, int64_t opset, std::vector<std::string> inputs,
                           std::vector<std::string> outputs, const std::string& name) {
    std::string bytes;
    {
      const GilRelease released;
      bytes = onnx::to_onnx(*g.graph, to_device(device.ptr()), options_of(opset, std::move(inputs), std::move(outputs), name, false));
    }
    return nb::bytes(bytes.data(), bytes.size());
  });
  m.def("_onnx_save", [](const GraphObject& g, nb::handle device, const std::string& path, int64_t opset, std::vector<std::string> inputs,
                          std::vector<std::string> outputs, const std::string& name, bool external_data) {
    onnx::save_onnx(*g.graph, to_device(device.ptr()), path, options_of(opset, std::move(inputs), std::move(outputs), name, external_data));
  });
  m.attr("_onnx_opsets") = nb::make_tuple(onnx::kOldestExported, onnx::kNewestExported);
}

}  // namespace pyburn::python
