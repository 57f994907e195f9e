#include "pyburn/onnx/export/export_rows.h"

#include <unordered_map>

#include "pyburn/onnx/element_type.h"
#include "pyburn/support/error.h"

namespace pyburn::onnx {

bool ExportCall::is_fixed() const {
  bool fixed = node.patches.empty();
  for (ValueId v : node.in) fixed &= v < 0 || writer.has_fixed_shape(v);
  return fixed;
}

std::string ExportCall::cast(const std::string& name, DType from, DType to) const {
  return from == to ? name : add("Cast", {name}, {{"to", int64_t(element_type_of(to))}});
}

void ExportCall::refuse(const std::string& why) const { fail<UnsupportedOp>("{}: {}", node.op.info().name(), why); }

const ExportRow* find_export_row(const OpInfo& op) {
  static const auto& rows = *[] {
    auto* map = new std::unordered_map<std::string_view, const ExportRow*>;
    for (ExportRows family : {elementwise_rows(), activation_rows(), movement_rows(), reduction_rows(), index_rows(), creation_rows(),
             product_rows(), convolution_rows(), normalisation_rows(), recurrent_rows()})
      for (const ExportRow& row : family) map->emplace(row.name, &row);
    return map;
  }();
  const auto it = rows.find(op.name());
  return it == rows.end() ? nullptr : it->second;
}

}  // namespace pyburn::onnx
