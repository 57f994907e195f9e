// Tensors as text. One format is chosen for all shown elements, so that columns line up.
#include "pyburn/ops/print.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <vector>

#include "pyburn/ops/generated/binary.h"
#include "pyburn/runtime/transfer.h"
#include "pyburn/support/format.h"
#include "pyburn/tensor/half.h"

namespace pyburn {
namespace {

// One element, wide enough for every dtype.
struct Element {
  enum class Kind : uint8_t { floating, signed_integer, unsigned_integer, boolean } kind;
  union {
    double d;
    int64_t i;
    uint64_t u;
  };
};

template <class T>
T load(const std::byte* p) {
  T v;
  std::memcpy(&v, p, sizeof(T));
  return v;
}
Element element(DType t, const std::byte* p) {
  using Kind = Element::Kind;
  Element e{};
  e.kind = is_floating(t)           ? Kind::floating
           : t == DType::boolean    ? Kind::boolean
           : is_unsigned_integer(t) ? Kind::unsigned_integer
                                    : Kind::signed_integer;
  switch (t) {
    case DType::float64:
      e.d = load<double>(p);
      break;
    case DType::float32:
      e.d = double(load<float>(p));
      break;
    case DType::float16:
      e.d = double(float(load<Half>(p)));
      break;
    case DType::bfloat16:
      e.d = double(float(load<BFloat16>(p)));
      break;
    case DType::int8:
      e.i = load<int8_t>(p);
      break;
    case DType::int16:
      e.i = load<int16_t>(p);
      break;
    case DType::int32:
      e.i = load<int32_t>(p);
      break;
    case DType::int64:
      e.i = load<int64_t>(p);
      break;
    case DType::uint8:
      e.u = load<uint8_t>(p);
      break;
    case DType::uint16:
      e.u = load<uint16_t>(p);
      break;
    case DType::uint32:
      e.u = load<uint32_t>(p);
      break;
    case DType::uint64:
      e.u = load<uint64_t>(p);
      break;
    case DType::boolean:
      e.u = load<uint8_t>(p);
      break;
  }
  return e;
}

// What is shown of a tensor: the ends of long axes when it is summarised, else everything. In row-major order.
struct Shown {
  Shape shape;               // extents of what is shown
  SmallVector<bool, 6> cut;  // does the axis have a gap in its middle?
  std::vector<Element> elements;
};

void read(const TensorHandle& t, const Layout& part, std::vector<Element>& into) {
  const TensorHandle view = alias(t, part);
  const std::vector<std::byte> bytes = host_bytes(view);
  const int64_t size = size_of(t.dtype());
  for (int64_t k = 0; k < view.numel(); ++k) into.push_back(element(t.dtype(), bytes.data() + k * size));
}

Layout without_first_axis(const Layout& l, int64_t index) {
  Layout rest = l;
  rest.offset += index * l.strides[0];  // fits: an element of the tensor
  rest.shape.erase(0);
  rest.strides.erase(0);
  return rest;
}

void read_ends(const TensorHandle& t, const Layout& part, int64_t edge, std::vector<Element>& into) {
  const bool long_axis = std::any_of(part.shape.begin(), part.shape.end(), [edge](int64_t n) { return n > 2 * edge; });
  if (!long_axis) return read(t, part, into);
  const int64_t n = part.shape[0];
  const int64_t gap = std::max<int64_t>(n - 2 * edge, 0);
  for (int64_t i = 0; i < n - gap; ++i) read_ends(t, without_first_axis(part, i < edge ? i : i + gap), edge, into);
}

Shown look_at(const TensorHandle& t, const PrintOptions& o) {
  Shown s;
  const bool summarise = t.numel() > o.threshold;
  const int64_t edge = std::max<int64_t>(o.edgeitems, 0);
  for (int64_t n : t.shape()) {
    const bool cut = summarise && n > 2 * edge;
    s.cut.push_back(cut);
    s.shape.push_back(cut ? 2 * edge : n);
  }
  if (summarise) read_ends(t, t.layout(), edge, s.elements);
  else read(t, t.layout(), s.elements);
  return s;
}

// How every element is written.
class Format {
 public:
  Format(const std::vector<Element>& elements, const PrintOptions& o) : precision_(o.precision) {
    if (!elements.empty() && elements[0].kind == Element::Kind::floating) choose(elements, o);
    for (const Element& e : elements)
      if (counts_for_width(e)) width_ = std::max(width_, text(e).size());
  }
  size_t width() const { return width_; }
  std::string operator()(const Element& e) const {
    const std::string s = text(e);
    return std::string(width_ > s.size() ? width_ - s.size() : 0, ' ') + s;
  }

 private:
  enum class Style : uint8_t { whole, fixed, scientific };

  void choose(const std::vector<Element>& elements, const PrintOptions& o) {
    double smallest = INFINITY, largest = 0;
    bool whole = true;
    for (const Element& e : elements) {
      if (!counts_for_width(e)) continue;
      smallest = std::min(smallest, std::fabs(e.d));
      largest = std::max(largest, std::fabs(e.d));
      whole &= e.d == std::ceil(e.d);
    }
    if (largest == 0) return;  // zeros and non-numbers only
    const bool wide = largest / smallest > 1000 || largest > 1e8 || smallest < 1e-4;
    style_ = o.sci_mode.value_or(wide) ? Style::scientific : whole ? Style::whole : Style::fixed;
  }
  // Zeros, infinities and NaN take the room that the other numbers need.
  static bool counts_for_width(const Element& e) { return e.kind != Element::Kind::floating || (std::isfinite(e.d) && e.d != 0); }

  std::string text(const Element& e) const {
    switch (e.kind) {
      case Element::Kind::boolean:
        return e.u ? "True" : "False";
      case Element::Kind::signed_integer:
        return to_text(e.i);
      case Element::Kind::unsigned_integer:
        return to_text(e.u);
      default:
        break;
    }
    if (std::isnan(e.d)) return "nan";
    if (std::isinf(e.d)) return e.d > 0 ? "inf" : "-inf";
    char small[64];
    const char* pattern = style_ == Style::scientific ? "%.*e" : style_ == Style::fixed ? "%.*f" : "%.*f.";
    const int digits = style_ == Style::whole ? 0 : precision_;
    const int n = std::snprintf(small, sizeof small, pattern, digits, e.d);
    if (n < int(sizeof small)) return small;
    std::string large(size_t(n), '\0');  // snprintf also writes the terminator, for which a string has room
    std::snprintf(large.data(), size_t(n) + 1, pattern, digits, e.d);
    return large;
  }

  int precision_;
  Style style_ = Style::whole;
  size_t width_ = 1;
};

class Writer {
 public:
  Writer(const Shown& shown, const Format& format, const PrintOptions& options) : shown_(shown), format_(format), options_(options) {}

  std::string write(int axis, int indent) {
    const int rank = shown_.shape.rank();
    if (rank == 0) return format_(shown_.elements[0]);
    if (axis == rank - 1) return row(indent);
    std::string out = "[";
    std::string between(1, ',');
    between.append(size_t(rank - axis - 1), '\n').append(size_t(indent + 1), ' ');
    const int64_t n = shown_.shape[axis];
    bool first = true;
    auto add = [&](const std::string& part) {
      if (!first) out += between;
      out += part;
      first = false;
    };
    for (int64_t i = 0; i < n; ++i) {
      if (shown_.cut[axis] && i == n / 2) add("...");
      add(write(axis + 1, indent + 1));
    }
    if (n == 0 && shown_.cut[axis]) add("...");
    return out + "]";
  }

 private:
  std::string row(int indent) {
    const int axis = shown_.shape.rank() - 1;
    const int64_t n = shown_.shape[axis];
    std::vector<std::string> parts;
    for (int64_t i = 0; i < n; ++i) {
      if (shown_.cut[axis] && i == n / 2) parts.push_back(" ...");
      parts.push_back(format_(shown_.elements[next_++]));
    }
    if (n == 0 && shown_.cut[axis]) parts.push_back("...");
    const size_t per_line = size_t(std::max<int64_t>(1, (options_.linewidth - indent) / int64_t(format_.width() + 2)));
    std::string out = "[";
    for (size_t i = 0; i < parts.size(); ++i) {
      if (i > 0 && i % per_line == 0) out.append(",\n").append(size_t(indent + 1), ' ');
      else if (i > 0) out += ", ";
      out += parts[i];
    }
    return out + "]";
  }

  const Shown& shown_;
  const Format& format_;
  const PrintOptions& options_;
  size_t next_ = 0;
};

}  // namespace

PrintOptions& print_options() {
  static PrintOptions options;
  return options;
}

std::string typed_name(const Device& device) {
  constexpr std::string_view outer = "autodiff(";
  const std::string& name = device.name();
  if (name.starts_with(outer)) return name.substr(outer.size(), name.size() - outer.size() - 1);
  return format("inner({})", name);
}

std::string to_text(const TensorHandle& t, std::string_view name, std::string_view dtype_prefix, std::span<const std::string> notes) {
  const PrintOptions& o = print_options();
  const int indent = int(name.size()) + 1;
  std::vector<std::string> remarks;
  if (&t.device() != &device("ndarray")) remarks.push_back(format("device='{}'", typed_name(t.device())));
  const bool empty = t.numel() == 0, known = t.storage()->has_values;  // not known: on null, and while capturing
  if (!known || (empty ? t.rank() != 1 : o.edgeitems == 0)) remarks.push_back(format("size={}", t.shape()));
  const bool usual = t.dtype() == default_dtype() || (known && !empty && (t.dtype() == DType::int64 || t.dtype() == DType::boolean));
  if (!usual) remarks.push_back(format("dtype={}{}", dtype_prefix, name_of(t.dtype())));
  remarks.insert(remarks.end(), notes.begin(), notes.end());

  std::string body = known ? "[]" : "...";
  if (known && !empty) {
    const Shown shown = look_at(t, o);
    const Format format(shown.elements, o);
    body = Writer(shown, format, o).write(0, indent);
  }
  std::string out = std::string(name) + "(" + body;
  const size_t line_break = out.rfind('\n');
  int64_t length = line_break == out.npos ? int64_t(out.size()) + 2 : int64_t(out.size() - line_break) + 1;
  for (const std::string& remark : remarks) {
    const bool fits = length + int64_t(remark.size()) + 2 <= o.linewidth;
    if (fits) out += ", ";
    else out.append(",\n").append(size_t(indent), ' ');
    out += remark;
    length = fits ? length + int64_t(remark.size()) + 2 : indent + int64_t(remark.size());
  }
  return out + ")";
}

std::string to_text(const TensorHandle& t) { return to_text(t, "tensor", "", {}); }

}  // namespace pyburn
