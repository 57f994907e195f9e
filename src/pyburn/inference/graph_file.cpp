#include "pyburn/inference/graph_file.h"

#include <algorithm>
#include <cstring>

#include "pyburn/inference/graph_check.h"
#include "pyburn/io/atomic_file.h"
#include "pyburn/io/shared_bytes.h"
#include "pyburn/runtime/transfer.h"
#include "pyburn/support/error.h"
#include "pyburn/support/thread_pool.h"

namespace pyburn {
namespace {

// Header: magic, version, checksum of the payload, size of the payload; then the payload: the names of the operations (so that all that a
// reader lacks are known before the first of them is read), and the wire form of the graph.
constexpr char kMagic[8] = {'P', 'B', 'G', 'R', 'A', 'P', 'H', '\n'};
constexpr uint32_t kVersion = 4;
struct Header {
  char magic[8];
  uint32_t version;
  uint32_t reserved;
  uint64_t checksum, bytes;
};
static_assert(sizeof(Header) == 32);

// FNV-1a over words, then over what is left. Four sums side by side, because each waits for its last product.
uint64_t checksum_of_block(BytesView bytes) {
  constexpr uint64_t kStart = 0xcbf29ce484222325u, kPrime = 0x100000001b3u;
  uint64_t sums[4] = {kStart, kStart + 1, kStart + 2, kStart + 3};
  size_t i = 0;
  for (; i + 32 <= bytes.size(); i += 32)
    for (size_t k = 0; k < 4; ++k) {
      uint64_t word;
      std::memcpy(&word, bytes.data() + i + 8 * k, 8);
      sums[k] = (sums[k] ^ word) * kPrime;
      sums[k] ^= sums[k] >> 32;
    }
  uint64_t h = kStart;
  for (uint64_t sum : sums) h = (h ^ sum) * kPrime, h ^= h >> 32;
  for (; i < bytes.size(); ++i) h = (h ^ uint8_t(bytes[i])) * kPrime;
  return h;
}

// The checksum of the checksums of blocks, which several threads compute.
constexpr size_t kBlock = size_t(1) << 20;
// Memory that only the sums needed is given back at once.
uint64_t checksum(const io::SharedBytes& bytes) {
  std::vector<uint64_t> sums((bytes.size() + kBlock - 1) / kBlock);
  parallel_for(int64_t(sums.size()), 2, [&](int64_t begin, int64_t end) {
    for (auto i = size_t(begin); i < size_t(end); ++i) {
      const io::SharedBytes block = bytes.part(i * kBlock, std::min(kBlock, bytes.size() - i * kBlock));
      sums[i] = checksum_of_block(block.view());
      block.release_pages();
    }
  });
  return checksum_of_block(std::as_bytes(std::span(sums)));
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
      "[graph_file] the graph needs operations that this process does not have: got {}. They come from a plugin, to be loaded first, or "
      "from pyburn.register_op() in Python",
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
  const BytesView payload = BytesView(bytes).subspan(sizeof(Header));
  Header h{{}, kVersion, 0, checksum(io::SharedBytes::borrowed(payload)), payload.size()};
  std::memcpy(h.magic, kMagic, sizeof kMagic);
  std::memcpy(bytes.data(), &h, sizeof h);
}

namespace {

// Small constants are read into memory: they share their pages with others.
constexpr size_t kMapped = size_t(64) << 10;

Ref<Graph> read_graph(const io::SharedBytes& file, Device& device) {
  const BytesView bytes = file.view();
  Header h;
  require<FormatError>(bytes.size() >= sizeof h, "[graph_file] too short for a graph: got {} bytes", uint64_t(bytes.size()));
  std::memcpy(&h, bytes.data(), sizeof h);
  const BytesView payload = bytes.subspan(sizeof h);
  require<FormatError>(std::memcmp(h.magic, kMagic, sizeof kMagic) == 0, "[graph_file] not a graph file");
  require<FormatError>(
      h.version == kVersion, "[graph_file] another version of the format: got {}, expected {}; save the model again", h.version, kVersion);
  require<FormatError>(
      h.bytes == payload.size(), "[graph_file] the file was cut or extended: got {} bytes, expected {}", uint64_t(payload.size()), h.bytes);
  require<FormatError>(
      h.checksum == checksum(file.part(sizeof h, payload.size())), "[graph_file] the file is damaged: its checksum does not match");
  OpNames names;
  WireReader r(payload, names);
  r.make_constant = [&](const Meta& m, BytesView data) {
    return file.part(size_t(data.data() - bytes.data()), data.size()).tensor(m, device, data.size() >= kMapped);
  };
  r.deepest = 1;  // captured graphs contain no fused operations: those exist only between a queue and its kernels
  read_names(r);
  Ref<Graph> graph = decode_graph(r);
  r.end();
  check_nodes(*graph, device);  // the checksum finds damage; it does not make the file trustworthy
  return graph;
}

}  // namespace

Ref<Graph> graph_from_bytes(BytesView bytes, Device& device) { return read_graph(io::SharedBytes::borrowed(bytes), device); }

void save_graph(const Graph& graph, const std::string& path) {
  const Bytes bytes = graph_to_bytes(graph);
  io::atomic_write(path, [&](io::AtomicFile& file) { file.write(bytes); });
}

Ref<Graph> load_graph(const std::string& path, Device& device) { return read_graph(io::SharedBytes::of_file(path), device); }

}  // namespace pyburn
