// Damaged files of every format: a reader gives tensors or a FormatError, never a crash, a hang or a huge allocation.
// Deterministic: a seed always gives the same files. `readers_fuzz --help` tells the options.
#include <sys/resource.h>

#include <cmath>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <fstream>
#include <random>

#include "pyburn/io/bundle.h"
#include "pyburn/io/byte_sink.h"
#include "pyburn/io/checkpoint.h"
#include "pyburn/io/crc32.h"
#include "pyburn/io/fields_json.h"
#include "pyburn/io/npy.h"
#include "pyburn/io/safetensors.h"
#include "pyburn/runtime/transfer.h"
#include "pyburn/start.h"
#include "pyburn/support/error.h"
#include "pyburn/support/file_error.h"

using namespace pyburn;
namespace fs = std::filesystem;

namespace {

constexpr const char* kHelp = R"(usage: readers_fuzz [options] FOLDER
  FOLDER         small good files to begin with
  --format NAME  only files of this format: safetensors, index, pytorch, npy, npz, pyburn, config (all)
  --runs N       damaged files per good file (300)
  --seed S       the seed of the first one; the next ones follow (1)
  --seconds N    a file that takes longer to read is an error (5)
)";

struct Options {
  std::string format, folder;
  int64_t runs = 300, seconds = 5;
  uint64_t seed = 1;
};

Options parse(int argc, char** argv) {
  Options o;
  for (int i = 1; i < argc; ++i) {
    const std::string_view name = argv[i];
    const auto value = [&] {
      require<ValueError>(i + 1 < argc, "{} needs a value", name);
      return argv[++i];
    };
    if (name == "--format") o.format = value();
    else if (name == "--runs") o.runs = std::stoll(value());
    else if (name == "--seed") o.seed = std::stoull(value());
    else if (name == "--seconds") o.seconds = std::stoll(value());
    else if (name == "--help") std::fputs(kHelp, stdout), std::exit(0);
    else if (!name.starts_with("--")) o.folder = name;
    else fail<ValueError>("unknown option: got {}; see --help", name);
  }
  require<ValueError>(!o.folder.empty(), "a folder with good files is needed; see --help");
  return o;
}

using Bytes = std::vector<std::byte>;

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

struct Seed {
  std::string name, format;
  Bytes bytes;
};

Bytes bytes_of(std::string_view text) {
  const auto view = std::as_bytes(std::span(text));
  return {view.begin(), view.end()};
}

std::string format_of(const std::string& name) {
  for (const char* ending : {"safetensors", "npy", "npz"})
    if (name.ends_with(std::string(".") + ending)) return ending;
  return name.ends_with(".pt") ? "pytorch" : "";
}

// Files that other programs wrote, and our own.
std::vector<Seed> seeds_of(const Options& o) {
  std::vector<Seed> seeds;
  for (const auto& entry : fs::directory_iterator(o.folder)) {
    const std::string name = entry.path().filename().string();
    std::ifstream file(entry.path(), std::ios::binary);
    const std::string text((std::istreambuf_iterator<char>(file)), {});
    if (!format_of(name).empty()) seeds.push_back({name, format_of(name), bytes_of(text)});
  }
  std::sort(seeds.begin(), seeds.end(), [](const Seed& a, const Seed& b) { return a.name < b.name; });
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
  seeds.push_back({"made.pyburn", "pyburn", sink.take()});
  seeds.push_back({"made.index.json", "index", bytes_of(R"({"metadata": {"total_size": 96}, "weight_map": {"a": "other.safetensors"}})")});
  const std::string config = io::to_json(AnyOptions());
  const FlatOptions flat;
  require<ValueError>(io::fields_to_json(attr_type<FlatOptions>, &flat) == io::to_json(flat), "options are written in two ways");
  seeds.push_back({"made.json", "config", bytes_of(config)});
  seeds.push_back({"misspelt.json", "config", bytes_of(std::string(config).replace(config.find("rate"), 4, "rats"))});
  return seeds;
}

class Damage {
 public:
  Damage(uint64_t seed, const std::vector<Seed>& seeds) : random_(seed), seeds_(seeds) {}

  Bytes operator()(Bytes bytes) {
    for (uint64_t n = 1 + below(4); n > 0 && !bytes.empty(); --n) change(bytes);
    return bytes;
  }

 private:
  uint64_t below(uint64_t n) { return n == 0 ? 0 : random_() % n; }
  std::byte any() { return std::byte(below(256)); }

  void change(Bytes& b) {
    const size_t at = below(b.size());
    switch (below(9)) {
      case 0:  // a bit
        b[at] ^= std::byte(1u << below(8));
        return;
      case 1:  // a byte
        b[at] = any();
        return;
      case 2:  // cut
        b.resize(at);
        return;
      case 3:  // cut out
        b.erase(b.begin() + ptrdiff_t(at), b.begin() + ptrdiff_t(at + below(std::min<size_t>(b.size() - at, 64))));
        return;
      case 4: {  // repeat
        const Bytes piece(b.begin() + ptrdiff_t(at), b.begin() + ptrdiff_t(at + below(std::min<size_t>(b.size() - at, 64))));
        b.insert(b.begin() + ptrdiff_t(below(b.size())), piece.begin(), piece.end());
        return;
      }
      case 5:  // a piece of another file
        return splice(b, at);
      case 6:
      case 7:  // a length, an offset
        return number(b, at);
      default:  // a digit, in text
        return digits(b, at);
    }
  }
  void splice(Bytes& b, size_t at) {
    const Bytes& other = seeds_[below(seeds_.size())].bytes;
    const size_t from = below(other.size());
    const size_t count = std::min({other.size() - from, b.size() - at, size_t(1 + below(200))});
    std::copy_n(other.begin() + ptrdiff_t(from), count, b.begin() + ptrdiff_t(at));
  }
  void number(Bytes& b, size_t at) {
    constexpr uint64_t kNotable[] = {0, 1, 2, 127, 128, 255, 256, 0x7fff, 0xffff, 0x10000, 0x7fffffff, 0x80000000, 0xfffffffe, 0xffffffff,
        0x100000000, 0x7fffffffffffffff, 0x8000000000000000, 0xfffffffffffffff0, 0xffffffffffffffff};
    const uint64_t v = below(4) == 0 ? b.size() + below(16) - 8 : kNotable[below(std::size(kNotable))];
    const size_t width = size_t(1) << below(4);
    std::memcpy(b.data() + at, &v, std::min(width, b.size() - at));
  }
  void digits(Bytes& b, size_t from) {
    for (size_t i = from; i < b.size(); ++i) {
      const auto c = char(b[i]);
      if (c < '0' || c > '9') continue;
      const std::string text = below(2) ? std::to_string(random_()) : std::string(1, char('0' + below(10)));
      const Bytes piece = bytes_of(text);
      b.erase(b.begin() + ptrdiff_t(i));
      b.insert(b.begin() + ptrdiff_t(i), piece.begin(), piece.end());
      return;
    }
  }

  std::mt19937_64 random_;
  const std::vector<Seed>& seeds_;
};

// All that a program would do with the file.
void read(const std::string& format, const Bytes& bytes, const fs::path& folder) {
  const io::SharedBytes file = io::SharedBytes::borrowed(bytes);
  if (format == "config") {
    io::from_json<AnyOptions>({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
    return;
  }
  if (format == "index") {
    const fs::path path = folder / "fuzz.index.json";
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

struct Counts {
  int64_t read = 0, refused = 0;
};

void fuzz(const Seed& seed, const std::vector<Seed>& seeds, const Options& o, const fs::path& folder, Counts& counts) {
  for (int64_t run = 0; run < o.runs; ++run) {
    const uint64_t number = o.seed + uint64_t(run);
    Damage damage(number * 0x9e3779b97f4a7c15u + io::crc32(std::as_bytes(std::span(seed.name))), seeds);
    const Bytes bytes = damage(seed.bytes);
    const std::clock_t start = std::clock();  // of the processor: what else the machine does is no concern of this program
    try {
      read(seed.format, bytes, folder);
      ++counts.read;
    } catch (const FormatError&) {
      ++counts.refused;
    } catch (const FileError&) {  // an index that names a file that is not there
      require<ValueError>(seed.format == "index", "{} with seed {}: a system error", seed.name, number);
      ++counts.refused;
    } catch (const std::exception& e) {
      fail<ValueError>("{} with seed {}: not a FormatError: {}", seed.name, number, e.what());
    }
    const auto seconds = (std::clock() - start) / CLOCKS_PER_SEC;
    require<ValueError>(seconds < o.seconds, "{} with seed {}: took {} seconds", seed.name, number, int64_t(seconds));
  }
}

// Good files of a few kilobytes need little: whoever asks for more has believed a damaged number.
void limit_memory() {
#ifndef __SANITIZE_ADDRESS__
  const rlimit limit{rlim_t(4) << 30, rlim_t(4) << 30};
  setrlimit(RLIMIT_AS, &limit);
#endif
}

}  // namespace

int main(int argc, char** argv) {
  try {
    const Options o = parse(argc, argv);
    limit_memory();
    start();
    std::string name = (fs::temp_directory_path() / "pyburn_fuzz_XXXXXX").string();
    const fs::path folder = mkdtemp(name.data());
    fs::copy_file(fs::path(o.folder) / "other.safetensors", folder / "other.safetensors");
    const std::vector<Seed> seeds = seeds_of(o);
    int status = 0;
    try {
      for (const Seed& seed : seeds) {
        if (!o.format.empty() && o.format != seed.format) continue;
        Counts counts;
        try {
          read(seed.format, seed.bytes, folder);
        } catch (const FormatError&) {  // those that name classes, objects or dtypes that are not ours
        }
        fuzz(seed, seeds, o, folder, counts);
        std::printf(
            "%-22s %-12s read %6ld refused %6ld\n", seed.name.c_str(), seed.format.c_str(), long(counts.read), long(counts.refused));
      }
    } catch (const std::exception& e) {
      std::fprintf(stderr, "readers_fuzz: %s\n", e.what());
      status = 1;
    }
    fs::remove_all(folder);
    return status;
  } catch (const std::exception& e) {
    std::fprintf(stderr, "readers_fuzz: %s\n", e.what());
    return 2;
  }
}
