// Runs a saved graph: no Python, no model code. Inputs are filled with 0.5, or read as raw float32 from files.
//   run_graph model.pbgraph [batch size] [input.f32 ...]
#include <cstdio>
#include <cstdlib>
#include <fstream>

#include "pyburn/inference/session.h"
#include "pyburn/ops/functions.h"
#include "pyburn/runtime/transfer.h"
#include "pyburn/start.h"

using namespace pyburn;

namespace {

TensorHandle read_input(const char* path, const Meta& meta, Device& device) {
  std::vector<char> bytes(size_t(bytes_of(meta.dtype, meta.shape.numel())));
  std::ifstream file(path, std::ios::binary);
  require<FormatError>(bool(file.read(bytes.data(), std::streamsize(bytes.size()))), "[run_graph] cannot read {} bytes from '{}'",
      int64_t(bytes.size()), path);
  return from_host(device, {bytes.data(), meta});
}

void print(const char* name, const TensorHandle& t) {
  std::printf("%s: %s %s\n", name, to_text(t.dtype()).c_str(), to_text(t.shape()).c_str());
  const TensorHandle numbers = cast(t, DType::float32);
  std::vector<float> values(size_t(t.numel()));
  to_host(numbers, {values.data(), numbers.meta()});
  for (float v : values) std::printf("%.6g\n", double(v));
}

void run(int argc, char** argv) {
  Device& device = default_device();
  const std::unique_ptr<Session> session = Session::load(argv[1], device);
  const Graph& graph = session->graph();
  const int64_t n = argc > 2 ? std::atoll(argv[2]) : 1;
  Tensors inputs;
  for (size_t i = 0; i < graph.inputs.size(); ++i) {
    Meta meta = graph.values[size_t(graph.inputs[i])];
    for (const FreeAxis& f : graph.free_axes)
      if (size_t(f.input) == i && f.extent == 0) meta.shape[f.axis] = n;
    const int file = int(i) + 3;
    inputs.push_back(file < argc ? read_input(argv[file], meta, device) : TensorHandle(full(meta.shape, 0.5, meta.dtype, &device)));
  }
  const Tensors outputs = session->run(inputs);
  for (int64_t i = 0; i < outputs.size(); ++i)
    print(graph.output_names.empty() ? "output" : graph.output_names[size_t(i)].c_str(), outputs[i]);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) return std::fprintf(stderr, "usage: run_graph FILE [BATCH [INPUT.f32 ...]]\n"), 2;
  try {
    start();
    run(argc, argv);
  } catch (const Error& e) {
    return std::fprintf(stderr, "%s\n", e.what()), 1;
  }
  return 0;
}
