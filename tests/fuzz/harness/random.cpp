#include "random.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "pyburn/ir/schema.h"
#include "pyburn/runtime/run.h"

namespace pyburn::fuzz {

int64_t Random::integer() {
  constexpr int64_t kLarge[] = {INT64_MAX, INT64_MIN, INT64_MAX - 1, int64_t(1) << 62, (int64_t(1) << 62) - 5, int64_t(1) << 61,
      int64_t(1) << 32, INT32_MAX, INT32_MIN, 65536, 1000, -1000, -(int64_t(1) << 62)};
  return below(4) ? int64_t(below(8)) - 2 : kLarge[below(std::size(kLarge))];
}

uint64_t Random::unsigned_integer() {
  constexpr uint64_t kNotable[] = {0, 1, 2, 127, 128, 255, 256, 0x7fff, 0xffff, 0x10000, 0x7fffffff, 0x80000000, 0xfffffffe, 0xffffffff,
      0x100000000, uint64_t(1) << 47, uint64_t(1) << 48, 0x7fffffffffffffff, 0x8000000000000000, 0xfffffffffffffff0, 0xffffffffffffffff};
  return kNotable[below(std::size(kNotable))];
}

double Random::real() {
  constexpr double kReals[] = {0, -0.0, 1, -1, 0.5, 1e300, -1e300, 1e-300, INFINITY, -INFINITY, NAN, 9.3e18};
  return kReals[below(std::size(kReals))];
}

namespace {

void splice(Bytes& b, size_t at, Random& r, const std::vector<Bytes>& others) {
  const Bytes& other = r.any_of(others);
  const size_t from = r.below(other.size());
  const size_t count = std::min({other.size() - from, b.size() - at, size_t(1 + r.below(200))});
  std::copy_n(other.begin() + ptrdiff_t(from), count, b.begin() + ptrdiff_t(at));
}

void write_number(Bytes& b, size_t at, Random& r) {
  const uint64_t v = r.one_in(4) ? b.size() + r.below(16) - 8 : r.unsigned_integer();
  const size_t width = size_t(1) << r.below(4);
  std::memcpy(b.data() + at, &v, std::min(width, b.size() - at));
}

void write_count(Bytes& b, size_t at, Random& r) {  // in the form of the wire
  OpNames none;
  WireWriter w(none);
  r.coin() ? w.count(r.unsigned_integer()) : w.integer(r.integer());
  const Bytes piece = w.take();
  b.erase(b.begin() + ptrdiff_t(at));
  b.insert(b.begin() + ptrdiff_t(at), piece.begin(), piece.end());
}

void write_digits(Bytes& b, size_t from, Random& r) {
  const auto digit = std::find_if(b.begin() + ptrdiff_t(from), b.end(), [](std::byte c) { return char(c) >= '0' && char(c) <= '9'; });
  if (digit == b.end()) return;
  const std::string text = r.coin() ? std::to_string(r.bits()) : std::string(1, char('0' + r.below(10)));
  const BytesView piece = std::as_bytes(std::span(text));
  b.insert(b.erase(digit), piece.begin(), piece.end());
}

void mutate_once(Bytes& b, Random& r, const std::vector<Bytes>& others) {
  const size_t at = r.below(b.size()), count = r.below(std::min<size_t>(b.size() - at, 64));
  const auto begin = b.begin() + ptrdiff_t(at), end = begin + ptrdiff_t(count);
  switch (r.below(10)) {
    case 0:
      b[at] ^= std::byte(1u << r.below(8));
      return;
    case 1:
      b[at] = r.byte();
      return;
    case 2:
      b.resize(at);
      return;
    case 3:
      b.erase(begin, end);
      return;
    case 4: {  // repeat
      const Bytes piece(begin, end);
      b.insert(b.begin() + ptrdiff_t(r.below(b.size())), piece.begin(), piece.end());
      return;
    }
    case 5:
      return splice(b, at, r, others);
    case 6:
    case 7:
      return write_number(b, at, r);
    case 8:
      return write_count(b, at, r);
    default:
      return write_digits(b, at, r);
  }
}

}  // namespace

void mutate_bytes(Bytes& bytes, Random& random, const std::vector<Bytes>& others) {
  for (uint64_t n = 1 + random.below(4); n > 0 && !bytes.empty(); --n) mutate_once(bytes, random, others);
}

void HostileFields::field(std::string_view, std::string& v) {
  if (random_.coin()) v = random_.coin() ? "reflect" : std::string(random_.below(4), '\xff');
}
void HostileFields::field(std::string_view, Dims& v) {
  if (random_.one_in(3)) v.resize(int64_t(random_.below(5)));
  for (int64_t& d : v) d = random_.coin() ? random_.integer() : d;
}
void HostileFields::field(std::string_view, Scalar& v) {
  if (random_.coin()) v = random_.coin() ? Scalar(random_.integer()) : Scalar(random_.real());
}
void HostileFields::field(std::string_view name, std::optional<Scalar>& v) {
  if (random_.coin()) v = Scalar(1);
  if (v) field(name, *v);
}
void HostileFields::field(std::string_view, Numbers& v) {
  for (double& d : v) d = random_.coin() ? random_.real() : d;
}

MadeOperation make_operation(Random& random, std::span<const Meta> metas, Ref<Graph> graph) {
  static Device& meta_device = device("meta");
  static const std::vector<const OpInfo*> rows = OpTable::global().rows();
  const OpInfo& info = *random.any_of(rows);
  HostileFields fields(random, std::move(graph));
  MadeOperation made{Operation(info, AttrBox::fresh(*info.attrs)).edited(fields), {}, {}};
  SchemaParameters parameters(info.schema);
  for (SchemaParameter p; parameters.next(p);)
    for (uint64_t n = !takes_tensors(p.type) ? 0 : p.type == ParameterType::tensors ? 1 + random.below(3) : 1; n > 0; --n)
      made.in.push_back(int64_t(random.below(metas.size())));
  Tensors in, out;
  const int64_t results = result_count(info.schema);
  out.resize(results < 0 ? int64_t(1 + random.below(3)) : results);
  for (int64_t i : made.in) {
    const Meta& m = metas[size_t(i)];
    in.push_back(make_tensor(meta_device, m.dtype, contiguous_layout(m.shape), meta_device.leaf().allocate(m.dtype, m.shape.numel())));
  }
  InputList list;
  list.add(in);
  try {
    dispatch(made.op.ref(), list, {out.data(), size_t(out.size())}, &meta_device);
    made.valid = true;
  } catch (const Error&) {
  }
  for (const TensorHandle& t : out) made.results.push_back(t.defined() ? t.meta() : Meta{});
  return made;
}

}  // namespace pyburn::fuzz
