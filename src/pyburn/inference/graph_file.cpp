#include "pyburn/inference/graph_file.h"

#include <algorithm>
#include <cstring>
#include <unordered_map>
#include <utility>

#include "pyburn/backends/cpu/packed_weights.h"
#include "pyburn/inference/graph_check.h"
#include "pyburn/io/atomic_file.h"
#include "pyburn/io/shared_bytes.h"
#include "pyburn/runtime/transfer.h"
#include "pyburn/support/error.h"

namespace pyburn {
namespace {

// Header, structure, constants. The structure: the names of the operations (so that all missing ones are known before the first of
// them is read), the wire form of the graph, and a list of packed weights. The elements of constants follow, and the packed weights,
// aligned, so that a mapped file is read where it is touched; they have no checksum, because that would touch them all.
constexpr char kMagic[8] = {'P', 'B', 'G', 'R', 'A', 'P', 'H', '\n'};
constexpr uint32_t kVersion = 5;
constexpr uint64_t kAlignment = 64;
struct Header {
  char magic[8];
  uint32_t version;
  uint32_t reserved;
  uint64_t checksum, structure, constants;  // of the structure; bytes
  uint64_t reserved_too;
};
static_assert(sizeof(Header) == kGraphHeaderBytes);

uint64_t aligned(uint64_t bytes) { return (bytes + kAlignment - 1) / kAlignment * kAlignment; }

// FNV-1a over words, then over what is left. Four sums side by side, because each waits for its last product.
uint64_t checksum(BytesView bytes) {
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

void add_names(OpNames& names, const Graph& graph) {
  for (const GraphNode& n : graph.nodes) {
    if (names.find(n.op.info()) < 0) names.add(n.op.info().name());
    for (const Ref<Graph>& inside : sub_graphs(n.op.ref())) add_names(names, *inside);
  }
}

void write_names(WireWriter& w, const Graph& graph) {
  add_names(w.names, graph);
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

class Image {
 public:
  Image(const Graph& graph, bool packed) {
    OpNames names;
    WireWriter w(names);
    w.extend(sizeof(Header));
    w.place_constant = [this](const TensorHandle& t) { return place(t); };
    write_names(w, graph);
    encode(w, graph);
    if (packed) find_packed_weights();
    write_packed_weights(w);
    head_ = w.take();
    const uint64_t structure = head_.size() - sizeof(Header);
    head_.resize(aligned(head_.size()));
    const Header h{{}, 0, 0, 0, structure, end_, 0};
    std::memcpy(head_.data(), &h, sizeof h);
    seal_graph_bytes(head_);
  }
  void write(const std::function<void(BytesView)>& write) const {
    write(head_);
    for (const auto& [t, offset] : constants_) {
      std::vector<std::byte> bytes = host_bytes(t);
      bytes.resize(aligned(bytes.size()));
      write(bytes);
    }
    for (const PackedConstant& p : packed_) {
      write(p.weights.bytes);
      write(Bytes(aligned(p.weights.bytes.size()) - p.weights.bytes.size()));
    }
  }

 private:
  struct PackedConstant {
    uint64_t constant;  // the offset of its elements
    cpu::PackedWeights weights;
    uint64_t offset;
  };

  uint64_t place(const TensorHandle& t) {
    constants_.emplace_back(t, end_);
    return std::exchange(end_, end_ + aligned(uint64_t(bytes_of(t.dtype(), t.numel()))));
  }
  void find_packed_weights() {
    for (const auto& [t, constant] : constants_)
      for (cpu::PackedWeights& weights : cpu::packed_weights_of(t)) {
        const uint64_t size = aligned(weights.bytes.size());
        packed_.push_back({constant, std::move(weights), end_});
        end_ += size;
      }
  }
  void write_packed_weights(WireWriter& w) const {
    w.count(packed_.size());
    if (!packed_.empty()) w.text(cpu::packed_form());
    for (const PackedConstant& p : packed_) {
      w.count(p.constant);
      encode(w, p.weights.key);
      encode(w, p.weights.layout);
      w.count(p.weights.bytes.size());
      w.count(p.offset);
    }
  }

  Bytes head_;
  std::vector<std::pair<TensorHandle, uint64_t>> constants_;
  std::vector<PackedConstant> packed_;
  uint64_t end_ = 0;
};

// Small constants are read into memory: they share their pages with others.
constexpr uint64_t kMapped = 64 << 10;

// What follows the structure.
class Elements {
 public:
  Elements(io::SharedBytes bytes, Device& device) : bytes_(std::move(bytes)), device_(device) {}

  TensorHandle constant(const Meta& m, uint64_t offset) {
    const uint64_t wanted = io::size_in_bytes(m, "a constant");
    const TensorHandle t = part(offset, wanted).tensor(m, device_, wanted >= kMapped);
    constants_.emplace(offset, t);
    return t;
  }
  // Used in place from a mapped file; others are packed again, which is as quick as a copy.
  void read_packed_weights(WireReader& r) {
    const int64_t n = r.length();
    const bool usable = n > 0 && r.text() == cpu::packed_form() && bytes_.is_mapped();
    for (int64_t i = 0; i < n; ++i) {
      const auto constant = constants_.find(r.count());
      require<FormatError>(constant != constants_.end(), "[graph_file] packed weights belong to no constant");
      const Dims key = decode_dims(r);
      const Layout layout = decode_layout(r);
      const uint64_t wanted = r.count(), offset = r.count();
      const io::SharedBytes packed = part(offset, wanted);
      if (usable) cpu::adopt_packed_weights(constant->second, {key, layout, packed.view(), packed.owner()});
    }
  }

 private:
  io::SharedBytes part(uint64_t offset, uint64_t wanted) const {
    require<FormatError>(offset % kAlignment == 0 && offset <= bytes_.size() && wanted <= bytes_.size() - offset,
        "[graph_file] a constant lies outside of the file: got {} bytes at {} of {}", wanted, offset, uint64_t(bytes_.size()));
    return bytes_.part(size_t(offset), size_t(wanted));
  }
  const io::SharedBytes bytes_;
  Device& device_;
  std::unordered_map<uint64_t, TensorHandle> constants_;  // by offset
};

// `file` begins where its memory is aligned, or its constants are copied.
Ref<Graph> read_graph(const io::SharedBytes& file, Device& device) {
  Header h;
  const BytesView bytes = file.view();
  require<FormatError>(bytes.size() >= sizeof h, "[graph_file] too short for a graph: got {} bytes", uint64_t(bytes.size()));
  std::memcpy(&h, bytes.data(), sizeof h);
  require<FormatError>(std::memcmp(h.magic, kMagic, sizeof kMagic) == 0, "[graph_file] not a graph file");
  require<FormatError>(
      h.version == kVersion, "[graph_file] another version of the format: got {}, expected {}; save the model again", h.version, kVersion);
  const uint64_t size = bytes.size();
  const bool whole =
      h.structure <= size - sizeof h && aligned(sizeof h + h.structure) <= size && h.constants == size - aligned(sizeof h + h.structure);
  require<FormatError>(whole, "[graph_file] the file was cut or extended: got {} bytes, of which {} are the graph and {} its constants",
      size, h.structure, h.constants);
  const BytesView structure = bytes.subspan(sizeof h, size_t(h.structure));
  require<FormatError>(h.checksum == checksum(structure), "[graph_file] the file is damaged: its checksum does not match");
  Elements elements(file.part(size_t(size - h.constants), size_t(h.constants)), device);
  OpNames names;
  WireReader r(structure, names);
  r.find_constant = [&](const Meta& m, uint64_t offset) { return elements.constant(m, offset); };
  read_names(r);
  Ref<Graph> graph = decode_graph(r);
  elements.read_packed_weights(r);
  r.end();
  check_nodes(*graph, device);  // the checksum finds damage; it does not make the file trustworthy
  return graph;
}

}  // namespace

Bytes graph_to_bytes(const Graph& graph, bool packed) {
  Bytes bytes;
  Image(graph, packed).write([&](BytesView part) { bytes.insert(bytes.end(), part.begin(), part.end()); });
  return bytes;
}

void seal_graph_bytes(std::span<std::byte> bytes) {
  Header h;
  std::memcpy(&h, bytes.data(), sizeof h);
  h.structure = std::min<uint64_t>(h.structure, bytes.size() - sizeof h);
  const uint64_t size = std::max<uint64_t>(bytes.size(), aligned(sizeof h + h.structure));
  if (bytes.size() > aligned(sizeof h + h.structure)) h.constants = size - aligned(sizeof h + h.structure);
  h.version = kVersion;
  h.checksum = checksum(BytesView(bytes).subspan(sizeof h, size_t(h.structure)));
  std::memcpy(h.magic, kMagic, sizeof kMagic);
  std::memcpy(bytes.data(), &h, sizeof h);
}

Ref<Graph> graph_from_bytes(BytesView bytes, Device& device) { return read_graph(io::SharedBytes::borrowed(bytes), device); }

void save_graph(const Graph& graph, const std::string& path, bool packed) {
  const Image image(graph, packed);
  io::atomic_write(path, [&](io::AtomicFile& file) { image.write([&](BytesView part) { file.write(part); }); });
}

Ref<Graph> load_graph(const std::string& path, Device& device) { return read_graph(io::SharedBytes::of_file(path), device); }

}  // namespace pyburn
