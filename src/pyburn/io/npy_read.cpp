#include <algorithm>
#include <optional>

#include "pyburn/io/byte_cursor.h"
#include "pyburn/io/npy.h"
#include "pyburn/io/zip_read.h"
#include "pyburn/runtime/device.h"

namespace pyburn::io {
namespace {

constexpr std::string_view kMagic("\x93NUMPY");

struct Header {
  std::string dtype;
  bool fortran = false;
  Shape shape;
};

// Reads {'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }: as much of Python as a header may contain.
class HeaderReader {
 public:
  explicit HeaderReader(std::string_view text) : rest_(text) {}

  Header read() {
    Header h;
    bool seen[3] = {};
    expect('{');
    while (!accept('}')) {
      const std::string key = text();
      expect(':');
      const int field = key == "descr" ? 0 : key == "fortran_order" ? 1 : key == "shape" ? 2 : -1;
      require<FormatError>(field >= 0 && !seen[field], "[npy] the header has an unknown field: got '{}'", key);
      seen[field] = true;
      if (field == 0) h.dtype = dtype();
      else if (field == 1) h.fortran = boolean();
      else h.shape = shape();
      if (accept('}')) break;
      expect(',');
    }
    skip_space();
    require<FormatError>(seen[0] && seen[1] && seen[2] && rest_.empty(), "[npy] the header is incomplete or has trailing data");
    return h;
  }

 private:
  void skip_space() { rest_.remove_prefix(std::min(rest_.find_first_not_of(" \n\t\r"), rest_.size())); }
  bool accept(char c) {
    skip_space();
    if (rest_.empty() || rest_[0] != c) return false;
    rest_.remove_prefix(1);
    return true;
  }
  void expect(char c) {
    require<FormatError>(accept(c), "[npy] the header is damaged: expected '{}', got '{}'", std::string(1, c), rest_.substr(0, 10));
  }
  std::string text() {
    skip_space();
    const char quote = accept('"') ? '"' : (expect('\''), '\'');
    const size_t end = rest_.find(quote);
    require<FormatError>(end != rest_.npos, "[npy] a string in the header is not terminated");
    const std::string value(rest_.substr(0, end));
    rest_.remove_prefix(end + 1);
    return value;
  }
  std::string dtype() {
    require<FormatError>(!accept('['), "[npy] structured arrays are not supported");
    return text();
  }
  bool boolean() {
    skip_space();
    const std::string_view word = rest_.starts_with("True") ? "True" : "False";
    require<FormatError>(rest_.starts_with(word), "[npy] the header is damaged: expected True or False, got '{}'", rest_.substr(0, 10));
    rest_.remove_prefix(word.size());
    return word == "True";
  }
  Shape shape() {
    Shape s;
    expect('(');
    while (!accept(')')) {
      require<FormatError>(s.size() < kMaxRank, "[npy] too many axes");
      s.push_back(extent());
      if (accept(')')) break;
      expect(',');
    }
    return s;
  }
  int64_t extent() {
    skip_space();
    int64_t v = 0;
    const size_t digits = std::min(rest_.find_first_not_of("0123456789"), rest_.size());
    require<FormatError>(digits > 0, "[npy] expected a size: got '{}'", rest_.substr(0, 10));
    for (char c : rest_.substr(0, digits))
      require<FormatError>(!__builtin_mul_overflow(v, 10, &v) && !__builtin_add_overflow(v, c - '0', &v), "[npy] an extent is too large");
    rest_.remove_prefix(digits);
    if (rest_.starts_with("L")) rest_.remove_prefix(1);  // Python 2 wrote 3L
    return v;
  }
  std::string_view rest_;
};

std::optional<DType> dtype_of(std::string_view text) {
  constexpr std::pair<std::string_view, DType> kKnown[] = {{"f8", DType::float64}, {"f4", DType::float32}, {"f2", DType::float16},
      {"V2", DType::bfloat16}, {"i1", DType::int8}, {"i2", DType::int16}, {"i4", DType::int32}, {"i8", DType::int64}, {"u1", DType::uint8},
      {"u2", DType::uint16}, {"u4", DType::uint32}, {"u8", DType::uint64}, {"b1", DType::boolean}};
  for (const auto& [name, dtype] : kKnown)
    if (text == name) return dtype;
  return std::nullopt;
}

// Fortran order is C order of the reversed dimensions.
TensorHandle with_axes_reversed(const TensorHandle& t) {
  Layout l = t.layout();
  std::reverse(l.shape.begin(), l.shape.end());
  std::reverse(l.strides.begin(), l.strides.end());
  return alias(t, l);
}

}  // namespace

Snapshot open_npy(SharedBytes file, std::string name, bool mmap) {
  require<FormatError>(file.starts_with(kMagic), "[npy] not a .npy file");
  ByteCursor c(file.view(), "npy");
  c.take(kMagic.size());
  const auto version = c.number<uint8_t>(), minor = c.number<uint8_t>();
  require<FormatError>(version >= 1 && version <= 3 && minor == 0, "[npy] unsupported format version: got {}.{}", version, minor);
  const Header h = HeaderReader(c.text(version == 1 ? c.number<uint16_t>() : c.number<uint32_t>())).read();
  require<FormatError>(
      h.dtype.find('O') == h.dtype.npos, "[npy] object arrays are pickles, which are never executed: got dtype '{}'", h.dtype);
  const char order = h.dtype.empty() ? ' ' : h.dtype[0];
  const std::optional<DType> dtype =
      std::string_view("<>|=").find(order) == std::string_view::npos ? std::nullopt : dtype_of(h.dtype.substr(1));
  require<FormatError>(dtype.has_value(), "[npy] unsupported dtype: got '{}'", h.dtype);
  const Meta meta{h.shape, *dtype};
  const uint64_t bytes = size_in_bytes(meta, name);
  require<FormatError>(
      c.left() == bytes, "[npy] the data has the wrong size: got {} bytes for {} of {}", uint64_t(c.left()), meta.shape, meta.dtype);
  const bool swap = order == '>' && size_of(*dtype) > 1;
  const SharedBytes data = file.part(c.position(), size_t(bytes));
  return {std::move(name), meta, [=](Device& device) {
            Meta stored = meta;
            if (h.fortran) std::reverse(stored.shape.begin(), stored.shape.end());
            const SharedBytes ordered = swap ? data.swapped(size_t(size_of(meta.dtype))) : data;
            const TensorHandle t = ordered.tensor(stored, device, mmap && !swap);
            return h.fortran ? with_axes_reversed(t) : t;
          }};
}

Snapshots open_npz(SharedBytes file, const OpenOptions& options) {
  const auto zip = std::make_shared<ZipReader>(std::move(file));
  Snapshots list;
  for (const ZipReader::Entry& e : zip->entries()) {
    if (!e.name.ends_with(".npy")) continue;
    Snapshot array = open_npy(zip->read(e, options.verify), e.name.substr(0, e.name.size() - 4), options.mmap);
    // Packed arrays are unpacked again when they are needed: all of them together may not fit into memory.
    if (e.deflated) array.load = [zip, e](Device& device) { return open_npy(zip->read(e), e.name).load(device); };
    list.push_back(std::move(array));
  }
  return list;
}

}  // namespace pyburn::io
