// Graphs as ONNX models.
#pragma once
#include <filesystem>
#include <string>
#include <vector>

#include "pyburn/ir/graph.h"

namespace pyburn {
class Device;
}

namespace pyburn::onnx {

inline constexpr int64_t kOldestExported = 17, kNewestExported = 23;  // opsets

struct ExportOptions {
  int64_t opset = 20;
  std::vector<std::string> input_names, output_names;  // empty: the graph's
  std::string graph_name = "main_graph";
  bool external_data = false;  // weights in a file of their own beside the model; always where they are too large for one file
};

// The bytes of a model file. Operations without a counterpart are written as what they decompose into; UnsupportedOp names all those for
// which there is nothing.
std::string to_onnx(const Graph& graph, Device& device, const ExportOptions& options = {});
// Writes the model, and `path`.data where the weights lie outside.
void save_onnx(const Graph& graph, Device& device, const std::filesystem::path& path, const ExportOptions& options = {});

}  // namespace pyburn::onnx
