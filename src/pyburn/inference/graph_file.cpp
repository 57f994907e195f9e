#include "pyburn/inference/graph_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "pyburn/runtime/transfer.h"
#include "pyburn/support/error.h"

namespace pyburn {
namespace {

// Header: magic, version, checksum of the payload, size of the payload; then the payload, the wire form of the graph.
constexpr char kMagic[8] = {'P', 'B', 'G', 'R', 'A', 'P', 'H', '\n'};
constexpr uint32_t kVersion = 1;
struct Header {
  char magic[8];
  uint32_t version;
  uint32_t reserved;
  uint64_t checksum, bytes;
};
static_assert(sizeof(Header) == 32);

uint64_t checksum(BytesView bytes) {  // FNV-1a over words, then over what is left
  uint64_t h = 0xcbf29ce484222325u;
  size_t i = 0;
  for (; i + 8 <= bytes.size(); i += 8) {
    uint64_t word;
    std::memcpy(&word, bytes.data() + i, 8);
    h = (h ^ word) * 0x100000001b3u;
    h ^= h >> 32;
  }
  for (; i < bytes.size(); ++i) h = (h ^ uint8_t(bytes[i])) * 0x100000001b3u;
  return h;
}

[[noreturn]] void fail_system(const char* what, const std::string& path) {
  fail<FormatError>("[graph_file] {} '{}': {}", what, path, std::strerror(errno));
}

// A file that disappears again unless it is committed under its real name.
class AtomicFile {
 public:
  explicit AtomicFile(const std::string& path) : path_(path) {
    static std::atomic<int> files{0};
    temporary_ = format("{}.{}.{}.part", path, getpid(), files++);
    descriptor_ = open(temporary_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (descriptor_ < 0) fail_system("cannot write", path_);
  }
  ~AtomicFile() {
    if (descriptor_ >= 0) close(descriptor_);
    if (!committed_) unlink(temporary_.c_str());
  }
  void write(BytesView bytes) {
    while (!bytes.empty()) {
      const ssize_t n = ::write(descriptor_, bytes.data(), bytes.size());
      if (n < 0 && errno == EINTR) continue;
      if (n < 0) fail_system("cannot write", path_);
      bytes = bytes.subspan(size_t(n));
    }
  }
  void commit() {
    const bool ok = fsync(descriptor_) == 0 && close(std::exchange(descriptor_, -1)) == 0 && rename(temporary_.c_str(), path_.c_str()) == 0;
    if (!ok) fail_system("cannot write", path_);
    committed_ = true;
  }

 private:
  std::string path_, temporary_;
  int descriptor_ = -1;
  bool committed_ = false;
};

}  // namespace

Bytes graph_to_bytes(const Graph& graph) {
  OpNames names;
  WireWriter w(names);
  w.extend(sizeof(Header));
  w.read_constant = [](const TensorHandle& from, std::span<std::byte> to) { to_host(from, {to.data(), from.meta()}); };
  encode(w, graph);
  Bytes bytes = w.take();
  const BytesView payload = BytesView(bytes).subspan(sizeof(Header));
  Header h{{}, kVersion, 0, checksum(payload), payload.size()};
  std::memcpy(h.magic, kMagic, sizeof kMagic);
  std::memcpy(bytes.data(), &h, sizeof h);
  return bytes;
}

Ref<Graph> graph_from_bytes(BytesView bytes, Device& device) {
  Header h;
  require<FormatError>(bytes.size() >= sizeof h, "[graph_file] too short for a graph: got {} bytes", uint64_t(bytes.size()));
  std::memcpy(&h, bytes.data(), sizeof h);
  const BytesView payload = bytes.subspan(sizeof h);
  require<FormatError>(std::memcmp(h.magic, kMagic, sizeof kMagic) == 0, "[graph_file] not a graph file");
  require<FormatError>(h.version == kVersion, "[graph_file] another version of the format: got {}, expected {}", h.version, kVersion);
  require<FormatError>(
      h.bytes == payload.size(), "[graph_file] the file was cut or extended: got {} bytes, expected {}", uint64_t(payload.size()), h.bytes);
  require<FormatError>(h.checksum == checksum(payload), "[graph_file] the file is damaged: its checksum does not match");
  OpNames names;
  WireReader r(payload, names);
  r.make_constant = [&](const Meta& m, BytesView data) { return from_host(device, {const_cast<std::byte*>(data.data()), m}); };
  Ref<Graph> graph = decode_graph(r);
  r.end();
  return graph;
}

void save_graph(const Graph& graph, const std::string& path) {
  const Bytes bytes = graph_to_bytes(graph);
  AtomicFile file(path);
  file.write(bytes);
  file.commit();
}

Ref<Graph> load_graph(const std::string& path, Device& device) {
  std::error_code error;
  const uintmax_t size = std::filesystem::file_size(path, error);  // an error for directories and devices
  require<FormatError>(!error, "[graph_file] cannot read '{}': {}", path, error.message());
  std::ifstream file(path, std::ios::binary);
  Bytes bytes(size);
  file.read(reinterpret_cast<char*>(bytes.data()), std::streamsize(size));
  require<FormatError>(bool(file), "[graph_file] cannot read '{}'", path);
  return graph_from_bytes(bytes, device);
}

}  // namespace pyburn
