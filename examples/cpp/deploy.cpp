// The smallest program that runs a saved graph: deploy model.pbgraph
#include <cstdio>

#include "pyburn/inference/session.h"
#include "pyburn/ops/generated/fill.h"
#include "pyburn/start.h"

int main(int argc, char** argv) try {
  pyburn::start();
  const auto session = pyburn::Session::load(argc > 1 ? argv[1] : "model.pbgraph");
  pyburn::Tensors inputs;
  for (pyburn::ValueId v : session->graph().inputs) {
    const pyburn::Meta& meta = session->graph().values[size_t(v)];
    inputs.push_back(pyburn::fn::full(meta.shape, 0.5, meta.dtype));
  }
  for (const pyburn::TensorHandle& output : session->run({inputs.data(), size_t(inputs.size())}))
    std::printf("%s %s\n", pyburn::to_text(output.dtype()).c_str(), pyburn::to_text(output.shape()).c_str());
} catch (const pyburn::Error& e) {
  return std::fprintf(stderr, "%s\n", e.what()), 1;
}
