#include "pyburn/inference/graph_file.h"

#include <cstring>

#include "pyburn/inference/graph_check.h"
#include "pyburn/io/atomic_file.h"
#include "pyburn/io/mapped_file.h"
#include "pyburn/runtime/transfer.h"
#include "pyburn/support/error.h"

namespace pyburn {
namespace {

// Header: magic, version, checksum of the payload, size of the payload. Payload: the names of the operations (so that all missing ones are
// known before the first is read), and the wire format of the graph.
constexpr char kMagic[8] = {'P', 'B', 'G', 'R', 'A', 'P', 'H', '\n'};
constexpr uint32_t kVersion = 3;
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

void write_names(WireWriter& w, const Graph& graph) {
  for (const GraphNode& n : graph.nodes)
    if (w.names.find(n.op.info()) < 0) w.names.add(n.op.info().name());
  w.count(uint64_t(w.names.size()));
  for (int64_t i = 0; i < w.names.size(); ++i) w.text(w.names.name(i));
}

void read_names(WireReader& r) {
  std::string missing;
  for (int64_t n = r.length(); n > 0; --n) {
    const std::string name = r.text();
    r.names.add(name);
    if (!OpTable::global().discover(name)) missing += (missing.empty() ? "'" : ", '") + name.substr(0, 80) + "'";
  }
  require<FormatError>(missing.empty(),
      "[graph_file] the graph needs operations that this process does not have: got {}. They belong to a plugin, which must be loaded "
      "first, or "
      "to pyburn.register_op() in Python",
      missing);
}

}  // namespace

Bytes graph_to_bytes(const Graph& graph) {
  OpNames names;
  WireWriter w(names);
  w.extend(sizeof(Header));
  w.read_constant = [](const TensorHandle& from, std::span<std::byte> to) { to_host(from, {to.data(), from.meta()}); };
  write_names(w, graph);
  encode(w, graph);
  Bytes bytes = w.take();
  seal_graph_bytes(bytes);
  return bytes;
}

void seal_graph_bytes(std::span<std::byte> bytes) {
  const BytesView payload = bytes.subspan(sizeof(Header));
  Header h{{}, kVersion, 0, checksum(payload), payload.size()};
  std::memcpy(h.magic, kMagic, sizeof kMagic);
  std::memcpy(bytes.data(), &h, sizeof h);
}

Ref<Graph> graph_from_bytes(BytesView bytes, Device& device) {
  Header h;
  require<FormatError>(bytes.size() >= sizeof h, "[graph_file] too short for a graph: got {} bytes", uint64_t(bytes.size()));
  std::memcpy(&h, bytes.data(), sizeof h);
  const BytesView payload = bytes.subspan(sizeof h);
  require<FormatError>(std::memcmp(h.magic, kMagic, sizeof kMagic) == 0, "[graph_file] not a graph file");
  require<FormatError>(
      h.version == kVersion, "[graph_file] unsupported format version: got {}, expected {}; save the model again", h.version, kVersion);
  require<FormatError>(h.bytes == payload.size(), "[graph_file] the file is truncated or extended: got {} bytes, expected {}",
      uint64_t(payload.size()), h.bytes);
  require<FormatError>(h.checksum == checksum(payload), "[graph_file] the file is damaged: its checksum does not match");
  OpNames names;
  WireReader r(payload, names);
  r.make_constant = [&](const Meta& m, BytesView data) { return from_host(device, {const_cast<std::byte*>(data.data()), m}); };
  r.deepest = 1;  // captured graphs contain no fused operations: those exist only between a queue and its kernels
  read_names(r);
  Ref<Graph> graph = decode_graph(r);
  r.end();
  check_nodes(*graph, device);  // the checksum finds damage; it does not make the file trustworthy
  return graph;
}

void save_graph(const Graph& graph, const std::string& path) {
  const Bytes bytes = graph_to_bytes(graph);
  io::atomic_write(path, [&](io::AtomicFile& file) { file.write(bytes); });
}

Ref<Graph> load_graph(const std::string& path, Device& device) {
  const io::MappedFile file(path);
  return graph_from_bytes(file.bytes(), device);
}

}  // namespace pyburn
