#include "pyburn/ir/wire.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "pyburn/support/error.h"

namespace pyburn {

static_assert(std::endian::native == std::endian::little, "the wire form is little-endian");

void OpNames::add(std::string_view name) {
  index_.emplace(name, size());
  rows_.emplace_back(name);
}
int64_t OpNames::find(const OpInfo& info) const {
  const auto it = index_.find(info.name());
  return it == index_.end() ? -1 : it->second;
}
const OpInfo& OpNames::at(int64_t i) const {
  require<FormatError>(i >= 0 && i < size(), "[wire] operation number out of range: got {} of {}", i, size());
  const OpInfo* info = OpTable::global().discover(name(i));
  if (!info) fail<FormatError>("[wire] unknown operation: got '{}'", name(i).substr(0, 80));
  return *info;
}

void WireWriter::count(uint64_t v) {
  for (; v >= 128; v >>= 7) byte(uint8_t(v | 128));
  byte(uint8_t(v));
}
void WireWriter::integer(int64_t v) { count(uint64_t(v) << 1 ^ uint64_t(v >> 63)); }
void WireWriter::real(double v) {
  const uint64_t bits = std::bit_cast<uint64_t>(v);
  raw(std::as_bytes(std::span(&bits, 1)));
}
void WireWriter::text(std::string_view v) {
  count(v.size());
  raw(std::as_bytes(std::span(v)));
}
std::span<std::byte> WireWriter::extend(size_t bytes) {
  bytes_.resize(bytes_.size() + bytes);
  return std::span(bytes_).last(bytes);
}

BytesView WireReader::raw(size_t bytes) {
  require<FormatError>(
      bytes <= rest_.size(), "[wire] the data is truncated: got {} bytes, expected {}", uint64_t(rest_.size()), uint64_t(bytes));
  const BytesView head = rest_.first(bytes);
  rest_ = rest_.subspan(bytes);
  return head;
}
uint8_t WireReader::byte() { return uint8_t(raw(1)[0]); }
uint64_t WireReader::count() {
  uint64_t v = 0;
  for (int shift = 0; shift < 64; shift += 7) {
    const uint8_t b = byte();
    require<FormatError>(shift < 63 || b < 2, "[wire] a number is too long");
    v |= uint64_t(b & 127) << shift;
    if (b < 128) return v;
  }
  fail<FormatError>("[wire] a number is too long");
}
int64_t WireReader::length(size_t item_bytes) {
  const uint64_t n = count();
  require<FormatError>(
      n <= rest_.size() / item_bytes, "[wire] a length exceeds the data: got {} with {} bytes left", n, uint64_t(rest_.size()));
  return int64_t(n);
}
int64_t WireReader::integer() {
  const uint64_t v = count();
  return int64_t(v >> 1 ^ (~(v & 1) + 1));
}
double WireReader::real() {
  uint64_t bits;
  std::memcpy(&bits, raw(8).data(), 8);
  return std::bit_cast<double>(bits);
}
bool WireReader::boolean() {
  const uint8_t b = byte();
  require<FormatError>(b < 2, "[wire] expected a bool: got {}", b);
  return b == 1;
}
DType WireReader::dtype() {
  const uint8_t b = byte();
  require<FormatError>(b < all_dtypes().size(), "[wire] unknown dtype: got {}", b);
  return DType(b);
}
std::string WireReader::text() {
  const BytesView chars = raw(size_t(length()));
  return {reinterpret_cast<const char*>(chars.data()), chars.size()};
}
void WireReader::end() const { require<FormatError>(rest_.empty(), "[wire] trailing data: got {} bytes", uint64_t(rest_.size())); }

namespace {

// Each field goes with a letter for its type, so that two versions of a struct do not misread each other.
enum Tag : uint8_t {
  kBool = 'b',
  kInt = 'i',
  kReal = 'r',
  kText = 't',
  kDType = 'd',
  kDims = 'l',
  kScalar = 'n',
  kOptional = 'o',
  kNumbers = 'f',
  kGraph = 'g'
};

void encode_scalar(WireWriter& w, const Scalar& v) {
  w.byte(uint8_t(v.kind()));
  v.is_floating() ? w.real(v.to_double()) : w.integer(v.to_int());
}
Scalar decode_scalar(WireReader& r) {
  switch (r.byte()) {
    case uint8_t(Scalar::Kind::boolean):
      return r.integer() != 0;
    case uint8_t(Scalar::Kind::integer):
      return r.integer();
    case uint8_t(Scalar::Kind::floating):
      return r.real();
  }
  fail<FormatError>("[wire] unknown kind of number");
}

class FieldWriter final : public FieldVisitor {
 public:
  explicit FieldWriter(WireWriter& w) : w_(w) {}
  void field(std::string_view, bool v) override { w_.byte(kBool), w_.byte(v); }
  void field(std::string_view, int64_t v) override { w_.byte(kInt), w_.integer(v); }
  void field(std::string_view, double v) override { w_.byte(kReal), w_.real(v); }
  void field(std::string_view, const std::string& v) override { w_.byte(kText), w_.text(v); }
  void field(std::string_view, DType v) override { w_.byte(kDType), w_.byte(uint8_t(v)); }
  void field(std::string_view, const Dims& v) override { w_.byte(kDims), encode(w_, v); }
  void field(std::string_view, const Scalar& v) override { w_.byte(kScalar), encode_scalar(w_, v); }
  void field(std::string_view, const std::optional<Scalar>& v) override {
    w_.byte(kOptional), w_.byte(v.has_value());
    if (v) encode_scalar(w_, *v);
  }
  void field(std::string_view, const Ref<Graph>& v) override {
    w_.byte(kGraph), w_.byte(bool(v));
    if (v) encode(w_, *v);
  }
  void field(std::string_view, const Numbers& v) override {
    w_.byte(kNumbers), w_.count(uint64_t(v.size()));
    for (double d : v) w_.real(d);
  }
  void optional(std::string_view, bool given) override { w_.byte(kOptional), w_.byte(given); }

 private:
  WireWriter& w_;
};

class FieldReader final : public FieldEditor {
 public:
  FieldReader(WireReader& r, const OpInfo& op) : r_(r), op_(op) {}
  void field(std::string_view n, bool& v) override { expect(n, kBool), v = r_.boolean(); }
  void field(std::string_view n, int64_t& v) override { expect(n, kInt), v = r_.integer(); }
  void field(std::string_view n, double& v) override { expect(n, kReal), v = r_.real(); }
  void field(std::string_view n, std::string& v) override { expect(n, kText), v = r_.text(); }
  void field(std::string_view n, DType& v) override { expect(n, kDType), v = r_.dtype(); }
  void field(std::string_view n, Dims& v) override { expect(n, kDims), v = decode_dims(r_); }
  void field(std::string_view n, Scalar& v) override { expect(n, kScalar), v = decode_scalar(r_); }
  void field(std::string_view n, std::optional<Scalar>& v) override {
    expect(n, kOptional);
    v = r_.boolean() ? std::optional(decode_scalar(r_)) : std::nullopt;
  }
  void field(std::string_view n, Ref<Graph>& v) override {
    expect(n, kGraph);
    v = r_.boolean() ? decode_graph(r_) : Ref<Graph>();
  }
  void field(std::string_view n, Numbers& v) override {
    expect(n, kNumbers);
    v = Numbers();
    for (int64_t left = r_.length(sizeof(double)); left > 0; --left) v.push_back(r_.real());
  }
  bool optional(std::string_view n, bool) override {
    expect(n, kOptional);
    return r_.boolean();
  }

 private:
  void expect(std::string_view name, Tag tag) {
    if (r_.byte() != tag) fail<FormatError>("[wire] field '{}' of {} has the wrong type", name, op_.name());
  }
  WireReader& r_;
  const OpInfo& op_;
};

// Shapes in a file may claim anything; more bytes than this no machine has, and products of them do not overflow.
constexpr int64_t kMostElements = int64_t(1) << 48;
constexpr int64_t kLongestList = 1 << 16;

Shape decode_shape(WireReader& r) {
  Shape shape = decode_dims(r);
  require<FormatError>(shape.size() <= kMaxRank, "[wire] too many dimensions: got {}", shape.size());
  int64_t n = 1;
  for (int64_t d : shape) {
    require<FormatError>(d >= 0 && d <= kMostElements, "[wire] invalid size: got {}", d);
    require<FormatError>(d == 0 || n <= kMostElements / d, "[wire] too many elements: got {}", shape);
    n *= std::max<int64_t>(d, 1);  // a zero further on does not excuse the product before it
  }
  return shape;
}

}  // namespace

void encode(WireWriter& w, const Dims& v) {
  w.count(uint64_t(v.size()));
  for (int64_t d : v) w.integer(d);
}
Dims decode_dims(WireReader& r) {
  Dims v;
  const int64_t n = r.length();
  require<FormatError>(n <= kLongestList, "[wire] a list is too long: got {}", n);
  v.reserve(n);
  for (int64_t i = 0; i < n; ++i) v.push_back(r.integer());
  return v;
}

void encode(WireWriter& w, const Meta& m) {
  w.byte(uint8_t(m.dtype));
  encode(w, m.shape);
}
Meta decode_meta(WireReader& r) {
  const DType dtype = r.dtype();
  return {decode_shape(r), dtype};
}

void encode(WireWriter& w, const Layout& l) {
  encode(w, l.shape);
  encode(w, l.strides);
  w.integer(l.offset);
}
Layout decode_layout(WireReader& r) {
  Layout l{decode_shape(r), decode_dims(r), r.integer()};
  require<FormatError>(l.strides.size() == l.shape.size(), "[wire] shape and strides differ in length: got {} and {}", l.shape, l.strides);
  require<FormatError>(l.offset >= 0 && l.offset <= kMostElements, "[wire] invalid offset: got {}", l.offset);
  int64_t reach = l.offset;
  for (int i = 0; i < l.rank(); ++i) {
    int64_t step;
    require<FormatError>(l.strides[i] >= 0 && !__builtin_mul_overflow(l.strides[i], std::max<int64_t>(l.shape[i] - 1, 0), &step) &&
                             !__builtin_add_overflow(reach, step, &reach),
        "[wire] invalid strides: got {}", l.strides);
  }
  return l;
}

void encode(WireWriter& w, OpRef op) {
  int64_t number = w.names.find(*op.info);
  if (number >= 0) {
    w.count(uint64_t(number));
  } else {
    require<UnsupportedOp>(!w.names.sealed, "the other side does not support this operation");
    w.count(uint64_t(w.names.size()));
    w.text(op.info->name());
    w.names.add(op.info->name());
  }
  FieldWriter fields(w);
  op.info->attrs->visit(op.attrs, fields);
}
Operation decode_operation(WireReader& r) {
  const uint64_t number = r.count();
  if (number == uint64_t(r.names.size()) && !r.names.sealed) r.names.add(r.text());
  const OpInfo& info = r.names.at(int64_t(std::min<uint64_t>(number, INT64_MAX)));
  Ref<AttrBox> attrs = AttrBox::fresh(*info.attrs);
  FieldReader fields(r, info);
  info.attrs->edit(attrs->get(), fields);
  return {info, std::move(attrs)};
}

}  // namespace pyburn
