// The smallest program that runs an ONNX model: run_onnx model.onnx. Sizes that the file leaves open are 1.
#include <algorithm>
#include <cstdio>

#include "pyburn/inference/onnx_session.h"
#include "pyburn/ops/generated/fill.h"
#include "pyburn/start.h"

int main(int argc, char** argv) try {
  pyburn::start();
  pyburn::OnnxSession session(pyburn::onnx::load(argc > 1 ? argv[1] : "model.onnx"));
  pyburn::onnx::Values inputs;
  for (const pyburn::onnx::ValueInfo& input : session.model().inputs()) {
    pyburn::Shape shape;
    for (const pyburn::onnx::Extent& e : input.type.extents.value()) shape.push_back(std::max<int64_t>(1, e.size));
    inputs.push_back(pyburn::fn::full(shape, 0.5, pyburn::onnx::dtype_of(int64_t(input.type.element_type))));
  }
  for (const pyburn::onnx::Value& output : session.run(inputs)) std::printf("%s\n", to_text(output).c_str());
} catch (const std::exception& e) {
  return std::fprintf(stderr, "%s\n", e.what()), 1;
}
