// Pooling: a thread per window, a thread per element in the gradients.
#include "pyburn/ops/pool.h"

#include <algorithm>

#include "pyburn/backends/wgpu/axis_text.h"
#include "pyburn/backends/wgpu/kernel_table.h"
#include "pyburn/support/checked.h"
#include "pyburn/support/error.h"

namespace pyburn::wgpu {
namespace {

// The windows of pooling over the last dimensions of planes of `size`, in WGSL. Element k of the window o is at begin(o) + k * spread,
// where u32 wraps around, so that one comparison finds both borders.
struct Windows {
  const int axes;
  const bool adaptive;

  Windows(Shader& s, const auto& a, const Shape& size) : axes(int(a.kernel_size.size())), adaptive(a.adaptive) {
    Checked places = 1, windows = 1;
    for (int i = 0; i < axes; ++i) {
      const std::string k = std::to_string(i);
      const PoolAxis axis = pool_axis(a, i, size[size.rank() - axes + i]);
      s.number("in" + k, axis.in), s.number("out" + k, axis.out);
      places = places * axis.in, windows = windows * axis.out;
      if (adaptive) continue;
      s.constant(("kernel" + k).c_str(), axis.kernel), s.constant(("step" + k).c_str(), axis.stride);
      s.constant(("border" + k).c_str(), axis.padding), s.constant(("spread" + k).c_str(), axis.dilation);
    }
    s.number("places", places), s.number("windows", windows);
    // o * in / out without more bits: the sizes have at most 16.
    if (adaptive)
      s.declare(
          each("const spread# = 1u;\n"
               "fn begin#(o: u32) -> u32 { return o * (p.in# / p.out#) + o * (p.in# % p.out#) / p.out#; }\n"
               "fn size#(o: u32) -> u32 { return (o + 1u) * (p.in# / p.out#) + ((o + 1u) * (p.in# % p.out#) + p.out# - 1u) / p.out# - "
               "begin#(o); }\n"));
    else s.declare(each("fn begin#(o: u32) -> u32 { return o * step# - border#; }\nfn size#(o: u32) -> u32 { return kernel#; }\n"));
  }

  std::string each(std::string_view line, bool backwards = false) const { return per_axis(axes, line, backwards); }
  // Coordinates o# of window `number`, i# of element `number`.
  std::string window(const char* number) const {
    return format("var o = {}; ", number) + each("let o# = o % p.out#; o = o / p.out#; ", true);
  }
  std::string element(const char* number) const {
    return format("var e = {}; ", number) + each("let i# = e % p.in#; e = e / p.in#; ", true);
  }
  // `body` for each element of window o#, with its `place` in the plane.
  std::string over_elements(const std::string& body) const {
    return each("for (var k# = 0u; k# < size#(o#); k#++) { let i# = begin#(o#) + k# * spread#; if (i# >= p.in#) { continue; }\n") +
           "let place = " + number("i", "in") + ";\n" + body + each("}") + "\n";
  }
  // `body` for each window that holds element i#, with its `place` among the windows.
  std::string over_windows(const std::string& body) const {
    const char* range = adaptive ? "let first# = i# * (p.out# / p.in#) + i# * (p.out# % p.in#) / p.in#;\n"
                                   "let last# = (i# + 1u) * (p.out# / p.in#) + ((i# + 1u) * (p.out# % p.in#) + p.in# - 1u) / p.in#;\n"
                                 : "let first# = select(0u, (i# + border# - kernel# + step#) / step#, i# + border# >= kernel#);\n"
                                   "let last# = min(p.out#, (i# + border#) / step# + 1u);\n";
    return each(range) + each("for (var o# = first#; o# < last#; o#++) {\n") + "let place = " + number("o", "out") + ";\n" + body +
           each("}") + "\n";
  }

 private:
  std::string number(const char* coordinate, const char* extent) const {
    std::string text = format("{}0", coordinate);
    for (int i = 1; i < axes; ++i) text = format("({}) * p.{}{} + {}{}", text, extent, i, coordinate, i);
    return text;
  }
};

bool accepts_sizes(const auto& a, const Shape& x) {
  if (!a.adaptive) return true;
  for (int64_t i = 0; i < a.kernel_size.size(); ++i)
    if (a.kernel_size[i] > UINT16_MAX || x[x.rank() - a.kernel_size.size() + i] > UINT16_MAX) return false;
  return true;
}

bool accepts_max(OpRef op, Inputs in, Outputs) { return accepts_sizes(op.as<MaxPool>(), in[0]->shape()); }
void max_pool(const Call& c) {
  const TensorHandle &x = *c.in[0], &y = c.out[0];
  const bool indices = c.out.size() > 1;
  const Word type = word_of(x.dtype());
  Shader s(c.gpu);
  s.input("x", x), s.output("y", y);
  if (indices) s.output("index", c.out[1]);
  const Windows w(s, c.attrs<MaxPool>(), x.shape());
  const char* larger = type == Word::f32   ? "v > largest || is_nan(v)"
                       : type == Word::i64 ? "i64_lt(largest, v)"
                       : type == Word::u64 ? "u64_lt(largest, v)"
                                           : "v > largest";
  s.run_each(y.numel(),
      "let plane = i / p.windows * p.places; var largest: " + std::string(type_name(type)) + "; var at = 0u; var found = false;\n" +
          w.window("i % p.windows") +
          w.over_elements(format("let v = x_get(plane + place);\nif (!found || {}) { largest = v; at = place; found = true; }\n", larger)) +
          (indices ? "index_set(i, vec2<u32>(at, 0u)); " : "") + "y_set(i, largest);");
}

// The number that a window's sum is divided by.
void declare_divisor(Shader& s, const AvgPool& a, const Windows& w) {
  std::string code = "fn divisor(" + w.each("o#: u32, ") + ") -> u32 {\n  var n = 1u;\n";
  if (a.divisor) {
    s.number("divisor", a.divisor);
    code += "  n = p.divisor;\n";
  } else if (a.adaptive) {
    code += w.each("  n *= size#(o#);\n");
  } else if (a.count_include_pad) {
    code += w.each("  n *= min(o# * step# + kernel#, p.in# + 2u * border#) - o# * step#;\n");
  } else {  // of which some are inside
    code += w.each(
        "  let end# = o# * step# + kernel#; n *= max(min(end#, p.in# + border#), max(o# * step#, border#)) - max(o# * step#, border#);\n");
  }
  s.declare(code + "  return n;\n}\n");
}

// The type that elements are summed in.
struct Sum {
  const char *start, *add, *divide;
  explicit Sum(DType t)
      : start(is_wide(word_of(t)) ? "vec2<u32>(0u, 0u)" : "0.0"),
        add(is_wide(word_of(t)) ? "sum = i64_add(sum, {});" : "sum += {};"),
        divide(is_wide(word_of(t)) ? "i64_div({}, vec2<u32>(divisor({}), 0u))" : "{} / f32(divisor({}))") {}
};

bool accepts_avg(OpRef op, Inputs in, Outputs) { return accepts_sizes(op.as<AvgPool>(), in[0]->shape()); }
void avg_pool(const Call& c) {
  const TensorHandle &x = *c.in[0], &y = c.out[0];
  const Sum sum(x.dtype());
  Shader s(c.gpu);
  s.input("x", x), s.output("y", y);
  const Windows w(s, c.attrs<AvgPool>(), x.shape());
  declare_divisor(s, c.attrs<AvgPool>(), w);
  s.run_each(y.numel(), format("let plane = i / p.windows * p.places; var sum = {};\n", sum.start) + w.window("i % p.windows") +
                            w.over_elements(format(sum.add, "x_get(plane + place)") + "\n") +
                            format("y_set(i, {});", format(sum.divide, "sum", w.each("o#, "))));
}

bool accepts_avg_input(OpRef op, Inputs, Outputs) { return accepts_sizes(op.as<AvgPool>(), op.as<AvgPool>().input_size); }
void avg_pool_input(const Call& c) {
  const TensorHandle &dy = *c.in[0], &dx = c.out[0];
  const Sum sum(dy.dtype());
  Shader s(c.gpu);
  s.input("dy", dy), s.output("dx", dx);
  const Windows w(s, c.attrs<AvgPool>(), dx.shape());
  declare_divisor(s, c.attrs<AvgPool>(), w);
  s.run_each(dx.numel(), format("let plane = i / p.places * p.windows; var sum = {};\n", sum.start) + w.element("i % p.places") +
                             w.over_windows(format(sum.add, format(sum.divide, "dy_get(plane + place)", w.each("o#, "))) + "\n") +
                             "dx_set(i, sum);");
}

// Declares place(i, &ok): where in a plane of `places` the index of element i leads.
void declare_index(Shader& s, const Call& c, const TensorHandle& indices, int64_t places) {
  s.input("index", indices);
  s.fault("outside", c.op.info->function(), format("index out of range: got {} for a plane of {}", "{}", places));
  s.number("places", places);
  s.declare(R"(fn place(i: u32, ok: ptr<function, bool>) -> u32 {
  let index = index_get(i);
  *ok = index.y == 0u && index.x < p.places;
  if (!*ok) { report(p.outside, bitcast<i32>(index.x)); }
  return index.x;
}
)");
}
int64_t plane_of(const Shape& s, int64_t axes) {
  Checked n = 1;
  for (int64_t i = s.rank() - axes; i < s.rank(); ++i) n = n * s[i];
  return n;
}

bool accepts_unpool(OpRef op, Inputs in, Outputs) { return !op.as<Unpool>().accumulate || !is_wide(word_of(in[0]->dtype())); }
void unpool(const Call& c) {
  const Unpool& a = c.attrs<Unpool>();
  const TensorHandle &x = *c.in[0], &indices = *c.in[1], &y = c.out[0];
  const int64_t axes = a.output_size.size(), given = plane_of(x.shape(), axes), places = plane_of(y.shape(), axes);
  // Sums are formed in 32 bits; for the rest, the last of several elements for one place is found first.
  const bool in_place = a.accumulate && dtype_info(y.dtype()).bits == 32;
  const Word type = word_of(y.dtype());
  const DType held = !a.accumulate || type == Word::u32 ? DType::uint32 : type == Word::f32 ? DType::float32 : DType::int32;
  const TensorHandle sums = in_place ? y : scratch(c, held, y.shape());
  {
    Shader zero(c.gpu);
    zero.output("y", sums);
    zero.run_each(y.numel(), format("y_set(i, {}(0));", type_name(word_of(sums.dtype()))));
  }
  {
    Shader s(c.gpu);
    s.shared_output("y", sums);
    if (a.accumulate) s.input("x", x);
    s.number("given", given);
    declare_index(s, c, indices, places);
    s.run_each(x.numel(), format("var ok = false; let place = place(i, &ok);\nif (ok) { y_{}(y_at(i / p.given * p.places + place), {}); }",
                              a.accumulate ? "add" : "max", a.accumulate ? "x_get(i)" : "i + 1u"));
  }
  if (in_place) return;
  if (a.accumulate) return copy(c.gpu, sums, y);
  Shader s(c.gpu);
  s.input("x", x), s.input("last", sums), s.output("y", y);
  s.run_each(y.numel(),
      format("let last = last_get(i); var v: {}; if (last > 0u) { v = x_get(last - 1u); } y_set(i, v);", type_name(word_of(y.dtype()))));
}

void unpool_input(const Call& c) {
  const TensorHandle &x = *c.in[0], &indices = *c.in[1], &y = c.out[0];
  const int64_t axes = c.attrs<Unpool>().output_size.size();
  Shader s(c.gpu);
  s.input("x", x), s.output("y", y);
  s.number("taken", plane_of(y.shape(), axes));
  declare_index(s, c, indices, plane_of(x.shape(), axes));
  s.run_each(y.numel(), "var ok = false; let place = place(i, &ok);\nif (ok) { y_set(i, x_get(i / p.taken * p.places + place)); }");
}

}  // namespace

void register_pool(KernelTable& kernels) {
  kernels.add(op::max_pool, max_pool, accepts_max);
  kernels.add(op::max_pool_with_indices, max_pool, accepts_max);
  kernels.add(op::avg_pool, avg_pool, accepts_avg);
  kernels.add(op::avg_pool_input, avg_pool_input, accepts_avg_input);
  kernels.add(op::unpool, unpool, accepts_unpool);
  kernels.add(op::unpool_input, unpool_input);
}

}  // namespace pyburn::wgpu
