// Damaged files of every format: a reader gives tensors or a FormatError, never a crash, a hang or a huge allocation. The first byte of an
// input is the format, the rest is the file.
#include <cmath>
#include <filesystem>
#include <fstream>

#include "harness/target.h"
#include "pyburn/io/bundle.h"
#include "pyburn/io/byte_sink.h"
#include "pyburn/io/checkpoint.h"
#include "pyburn/io/fields_json.h"
#include "pyburn/io/npy.h"
#include "pyburn/io/safetensors.h"
#include "pyburn/runtime/transfer.h"
#include "pyburn/support/error.h"
#include "pyburn/support/file_error.h"

namespace pyburn {
namespace fs = std::filesystem;

namespace {

enum class Mode { fast, exact };
constexpr std::array<std::string_view, 2> names_of(Mode) { return {"fast", "exact"}; }
struct InnerOptions {
  int width = 3;
  std::optional<double> rate = 0.5;
  PB_FIELDS(width, rate)
};
struct FlatOptions {
  bool flag = true;
  int64_t count = 3;
  double rate = 0.5;
  std::string name = "text";
  DType dtype = DType::float16;
  Dims sizes{1, 2};
  Scalar value = 1.5;
  std::optional<Scalar> maybe;
  Scalar whole = 7, yes = true;
  Numbers numbers{0.5, INFINITY};
  SizesOrRule padding{{}, "same"}, border{{1, 2}, ""};
  PB_FIELDS(flag, count, rate, name, dtype, sizes, value, maybe, whole, yes, numbers, padding, border)
};
struct AnyOptions {
  FlatOptions flat;
  InnerOptions inner;
  std::vector<InnerOptions> more{{}, {}};
  std::vector<std::vector<int64_t>> table{{1, 2}, {}};
  Mode mode = Mode::exact;
  PB_FIELDS(flat, inner, more, table, mode)
};

constexpr const char* kFormats[] = {"safetensors", "npy", "npz", "pytorch", "pyburn", "index", "config"};

Bytes input_of(std::string_view format, std::string_view file) {
  const auto at = std::find(std::begin(kFormats), std::end(kFormats), format) - std::begin(kFormats);
  Bytes input{std::byte(at)};
  const BytesView bytes = std::as_bytes(std::span(file));
  input.insert(input.end(), bytes.begin(), bytes.end());
  return input;
}
std::string_view text_of(BytesView bytes) { return {reinterpret_cast<const char*>(bytes.data()), bytes.size()}; }

std::string contents(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

// With the file that an index names.
const fs::path& folder() {
  static const fs::path made = [] {
    const fs::path path = fs::temp_directory_path() / ("pyburn_readers_fuzz_" + std::to_string(getuid()));
    fs::create_directories(path);
    fs::copy_file(fs::path(PYBURN_GOLDEN_FILES) / "other.safetensors", path / "other.safetensors", fs::copy_options::overwrite_existing);
    return path;
  }();
  return made;
}

// Files that other programs wrote, and our own.
std::vector<Bytes> seeds() {
  std::vector<Bytes> made;
  std::vector<fs::path> paths;
  for (const auto& entry : fs::directory_iterator(PYBURN_GOLDEN_FILES)) paths.push_back(entry.path());
  std::sort(paths.begin(), paths.end());
  for (const fs::path& path : paths) {
    const std::string ending = path.extension().string();
    if (ending == ".pt") made.push_back(input_of("pytorch", contents(path)));
    else if (ending != ".json") made.push_back(input_of(ending.substr(1), contents(path)));
  }
  std::vector<float> values(24, 1.5f);
  const TensorHandle t = from_host(default_device(), {values.data(), {Shape{4, 6}, DType::float32}});
  io::MemorySink sink;
  io::BundleWriter writer(sink);
  writer.config(R"({"hidden": 3, "layers": [1, 2]})");
  writer.metadata({{"note", "text"}});
  writer.tensor(io::snapshot_of("weight", t));
  writer.tensor(io::snapshot_of("bias", t));
  writer.section("graph", std::as_bytes(std::span(values)));
  writer.finish();
  const Bytes bundle = sink.take();
  made.push_back(input_of("pyburn", text_of(bundle)));
  made.push_back(input_of("index", R"({"metadata": {"total_size": 96}, "weight_map": {"a": "other.safetensors"}})"));
  const std::string config = io::to_json(AnyOptions());
  const FlatOptions flat;
  require<ValueError>(io::fields_to_json(attr_type<FlatOptions>, &flat) == io::to_json(flat), "options are written in two ways");
  made.push_back(input_of("config", config));
  made.push_back(input_of("config", std::string(config).replace(config.find("rate"), 4, "rats")));
  return made;
}

void mutate(Bytes& input, fuzz::Random& random, const std::vector<Bytes>& seeds) {
  const std::byte format = input[0];
  input.erase(input.begin());
  fuzz::mutate_bytes(input, random, seeds);
  input.insert(input.begin(), format);
}

// All that a program would do with the file.
void read(std::string_view format, BytesView bytes) {
  const io::SharedBytes file = io::SharedBytes::borrowed(bytes);
  if (format == "config") {
    io::from_json<AnyOptions>(std::string(text_of(bytes)));
    return;
  }
  if (format == "index") {
    const fs::path path = folder() / "fuzz.index.json";
    std::ofstream(path, std::ios::binary).write(reinterpret_cast<const char*>(bytes.data()), std::streamsize(bytes.size()));
    io::load_all(io::open_tensors(path).tensors, default_device());
    return;
  }
  if (format == "pytorch") {
    io::Checkpoint checkpoint(file);
    checkpoint.load([](const TensorHandle& storage, const std::string&) { return storage; });
  }
  if (format == "safetensors") {
    const io::SafetensorsReader reader(file);
    for (const auto& item : reader.items()) reader.tensor(item.name);
  }
  if (format == "pyburn") {
    const io::BundleReader reader(file);
    for (const std::string& name : reader.sections()) reader.section(name);
  }
  io::load_all(io::open_tensors(file).tensors, default_device());
}

fuzz::Outcome run(BytesView input) {
  if (input.empty() || size_t(input[0]) >= std::size(kFormats)) return fuzz::Outcome::refused;
  const std::string_view format = kFormats[size_t(input[0])];
  try {
    read(format, input.subspan(1));
    return fuzz::Outcome::accepted;
  } catch (const FormatError&) {
    return fuzz::Outcome::refused;
  } catch (const FileError&) {
    if (format != "index") throw;
    return fuzz::Outcome::refused;  // an index that names a file that is not there
  }
}

}  // namespace

const fuzz::Target fuzz::target{"readers_fuzz", seeds, mutate, run};

}  // namespace pyburn
