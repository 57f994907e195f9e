// Damaged ONNX files: the reader and the planner give a model, a FormatError or an UnsupportedOp; never a crash, a hang or a huge
// allocation.
#include <algorithm>
#include <filesystem>
#include <fstream>

#include "harness/target.h"
#include "pyburn/onnx/model.h"
#include "pyburn/support/error.h"

namespace pyburn {
namespace {

namespace fs = std::filesystem;

// Models with every kind of message: loops, functions, sparse and low-bit tensors, strings, sequences.
std::vector<Bytes> seeds() {
  std::vector<fs::path> paths;
  for (const auto& entry : fs::directory_iterator(PYBURN_GOLDEN_FILES)) paths.push_back(entry.path());
  std::sort(paths.begin(), paths.end());
  std::vector<Bytes> made;
  for (const fs::path& path : paths) {
    std::ifstream file(path, std::ios::binary);
    const std::string text{std::istreambuf_iterator<char>(file), {}};
    const BytesView bytes = std::as_bytes(std::span(text));
    made.emplace_back(bytes.begin(), bytes.end());
  }
  return made;
}

fuzz::Outcome run(BytesView input) {
  try {
    to_text(*onnx::load(io::SharedBytes::borrowed(input)));
    return fuzz::Outcome::accepted;
  } catch (const FormatError&) {
  } catch (const UnsupportedOp&) {
  }
  return fuzz::Outcome::refused;
}

}  // namespace

const fuzz::Target fuzz::target{"onnx_fuzz", seeds, fuzz::mutate_bytes, run};

}  // namespace pyburn
