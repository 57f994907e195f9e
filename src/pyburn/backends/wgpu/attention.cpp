// Attention and its gradients a tile of scores at a time, in workgroup memory: the matrix of scores is never stored.
#include "pyburn/ops/attention.h"

#include "pyburn/backends/wgpu/kernel_table.h"
#include "pyburn/support/checked.h"
#include "pyburn/support/format.h"

namespace pyburn::wgpu {
namespace {

constexpr int kLanes = 64;
constexpr int64_t kMemory = 16000;  // bytes, of 16 KiB that every adapter has

// The rows of a tile, of queries and of keys alike, so that it fits; 0 if none does. A row has kLanes / rows lanes.
int64_t tile_rows(int64_t widths, int matrices) {
  for (int64_t rows = 16; rows > 0; rows /= 2)
    if (4 * (Checked(rows) * (widths + 4) + matrices * rows * rows) <= kMemory) return rows;
  return 0;
}
int64_t forward_widths(const Shape& q, const Shape& v) { return Checked(q[3]) + std::max(q[3], v[3]); }
int64_t gradient_widths(const Shape& q, const Shape& v) { return 2 * (Checked(q[3]) + v[3]); }

// Numbers and functions of the scores of query i and key j of head `head` (of all heads of the batch).
void declare_scores(
    Shader& s, const Attention& a, const TensorHandle& q, const TensorHandle& k, const TensorHandle& v, const TensorHandle& mask) {
  s.input("q", q), s.strides("q", q);
  s.input("k", k), s.strides("k", k);
  s.input("v", v), s.strides("v", v);
  s.number("heads", q.shape()[1]), s.number("sharing", q.shape()[1] / std::max<int64_t>(1, k.shape()[1]));
  s.number("queries", q.shape()[2]), s.number("keys", k.shape()[2]);
  s.number("scale", float(a.scale));
  s.constant("width", q.shape()[3]), s.constant("value_width", v.shape()[3]);
  s.declare(R"(
fn q_of(head: u32, i: u32, c: u32) -> f32 {
  return q_load(head / p.heads * p.q_stride0 + head % p.heads * p.q_stride1 + i * p.q_stride2 + c * p.q_stride3);
}
fn k_of(head: u32, j: u32, c: u32) -> f32 {
  return k_load(head / p.heads * p.k_stride0 + head % p.heads / p.sharing * p.k_stride1 + j * p.k_stride2 + c * p.k_stride3);
}
fn v_of(head: u32, j: u32, c: u32) -> f32 {
  return v_load(head / p.heads * p.v_stride0 + head % p.heads / p.sharing * p.v_stride1 + j * p.v_stride2 + c * p.v_stride3);
}
)");
  std::string code =
      "fn masked(head: u32, i: u32, j: u32, product: f32) -> f32 {\n  let score = product * p.scale;\n"
      "  if (i >= p.queries || j >= p.keys) { return -inf_f32(); }\n";
  if (a.is_causal) code += "  if (j > i) { return -inf_f32(); }\n";
  if (mask.defined()) {
    s.input("mask", mask);
    code += "  let m = mask_get((head * p.queries + i) * p.keys + j);\n";
    code += mask.dtype() == DType::boolean ? "  if (!m) { return -inf_f32(); }\n  return score;\n" : "  return score + m;\n";
  } else {
    code += "  return score;\n";
  }
  s.declare(code + "}\n");
}

// A matrix in workgroup memory. Rows are one element apart from a multiple of the number of banks.
void declare_tile(Shader& s, const char* name, int64_t rows, int64_t width) {
  s.declare(format("var<workgroup> {}: array<f32, {}>;\n", name, std::max<int64_t>(1, Checked(rows) * (width + 1))));
}
// Fills it: `element` of row `row` (below `extent`) and column c, 0 in the rows behind.
std::string fill(const char* name, int64_t rows, int64_t width, const char* row, const char* extent, const char* element) {
  if (width == 0) return "";
  return format("for (var e = lane; e < {}u; e += {}u) {\n  let t = e / {}u; let c = e % {}u; let row = {} + t; var x = 0.0;\n",
             rows * width, kLanes, width, width, row) +
         format("  if (row < {}) { x = {}; }\n  {}[t * {}u + c] = x;\n}\n", extent, element, name, width + 1);
}
std::string dot(const char* sum, const char* left, const char* left_row, const char* right, const char* right_row, int64_t width) {
  return format("var {} = 0.0;\nfor (var c = 0u; c < {}u; c++) { {} = fma({}[{} * {}u + c], {}[{} * {}u + c], {}); }\n", sum, width, sum,
      left, left_row, width + 1, right, right_row, width + 1, sum);
}
// One line per column that a lane keeps of its row: '#' is its number, '@' its column; only where there is such a column.
std::string columns(int64_t width, int64_t rows, std::string_view line) {
  const int64_t lanes = kLanes / rows;
  std::string code;
  for (int64_t n = 0; n * lanes < width; ++n) {
    const std::string column = format("(part + {}u)", n * lanes);
    if ((n + 1) * lanes > width) code += format("if ({} < {}u) ", column, width);
    for (const char ch : line) ch == '#' ? code += std::to_string(n) : ch == '@' ? code += column : code += ch;
    code += '\n';
  }
  return code;
}
std::string accumulators(const char* name, int64_t width, int64_t rows) {
  std::string code;
  for (int64_t n = 0; n * (kLanes / rows) < width; ++n) code += format("var {}{} = 0.0; ", name, n);
  return code + "\n";
}
std::string lane_places(int64_t rows) { return format("let r = lane / {}u; let part = lane % {}u;\n", kLanes / rows, kLanes / rows); }

bool accepts(OpRef, Inputs in, Outputs) { return tile_rows(forward_widths(in[0]->shape(), in[2]->shape()), 1) > 0; }
void attention(const Call& c) {
  const Attention& a = c.attrs<Attention>();
  const TensorHandle &q = *c.in[0], &k = *c.in[1], &v = *c.in[2];
  const int64_t width = q.shape()[3], values = v.shape()[3], rows = tile_rows(forward_widths(q.shape(), v.shape()), 1);
  const int64_t tiles = divide_up(q.shape()[2], rows);
  Shader s(c.gpu);
  declare_scores(s, a, q, k, v, *c.in[3]);
  s.output("y", c.out[0]), s.output("total", c.out[1]);
  s.number("tiles", tiles);
  declare_tile(s, "query", rows, width), declare_tile(s, "key", rows, std::max(width, values)), declare_tile(s, "score", rows, rows - 1);
  const std::string n = std::to_string(rows) + "u", step = std::to_string(kLanes / rows) + "u";
  std::string code = lane_places(rows) + format("let head = group / p.tiles; let i0 = group % p.tiles * {}; let i = i0 + r;\n", n);
  code += accumulators("y", values, rows) + "var most = -inf_f32(); var sum = 0.0;\n";
  code += fill("query", rows, width, "i0", "p.queries", "q_of(head, row, c)");
  code += format("let last = {};\n", a.is_causal ? format("min(p.keys, i0 + {})", n) : std::string("p.keys"));
  code += format("for (var j0 = 0u; j0 < last; j0 += {}) {\nworkgroupBarrier();\n", n);
  code += fill("key", rows, width, "j0", "p.keys", "k_of(head, row, c)") + "workgroupBarrier();\n";
  code += format("for (var t = part; t < {}; t += {}) {\n", n, step) + dot("product", "query", "r", "key", "t", width);
  code += format("score[r * {} + t] = masked(head, i, j0 + t, product); }\nworkgroupBarrier();\n", n);
  // The largest score so far: sums and results are scaled to it.
  code += format("var next = most; for (var t = 0u; t < {}; t++) { next = max(next, score[r * {} + t]); }\n", n, n);
  code += "var shrink = 1.0; if (next > most) { shrink = exp(most - next); }\nmost = next; sum *= shrink;\n";
  code += columns(values, rows, "{ y# *= shrink; }");
  code += "let shift = select(0.0, most, is_finite(most));\nworkgroupBarrier();\n";
  code += format("for (var t = part; t < {}; t += {}) { score[r * {} + t] = exp(score[r * {} + t] - shift); }\n", n, step, n, n);
  code += fill("key", rows, values, "j0", "p.keys", "v_of(head, row, c)") + "workgroupBarrier();\n";
  code += format("for (var t = 0u; t < {}; t++) { let weight = score[r * {} + t]; sum += weight;\n", n, n) +
          columns(values, rows, format("{ y# = fma(weight, key[t * {}u + @], y#); }", values + 1)) + "}\n}\n";
  code += "if (i < p.queries) {\nlet place = head * p.queries + i;\nlet norm = select(sum, 1.0, sum == 0.0);\n" +
          columns(values, rows, "{ y_set(place * value_width + @, y# / norm); }") +
          "if (part == 0u) { var l = -inf_f32(); if (sum != 0.0) { l = most + log(sum); } total_set(place, l); }\n}\n";
  s.run_groups(Checked(q.shape()[0]) * q.shape()[1] * tiles, kLanes, code);
}

// --- gradients ---

struct Gradient {
  const Attention& a;
  const TensorHandle &dy, &q, &k, &v, &mask, &total, &delta;
  int64_t width, values, rows;

  explicit Gradient(const Call& c)
      : a(c.attrs<Attention>()),
        dy(*c.in[0]),
        q(*c.in[1]),
        k(*c.in[2]),
        v(*c.in[3]),
        mask(*c.in[4]),
        total(*c.in[5]),
        delta(*c.in[6]),
        width(q.shape()[3]),
        values(v.shape()[3]),
        rows(tile_rows(gradient_widths(q.shape(), v.shape()), 2)) {}

  void declare(Shader& s) const {
    declare_scores(s, a, q, k, v, mask);
    s.input("dy", dy), s.input("total", total), s.input("delta", delta);
    s.declare(R"(
fn dy_of(head: u32, i: u32, c: u32) -> f32 { return dy_get((head * p.queries + i) * value_width + c); }
fn weight_of(head: u32, i: u32, j: u32, product: f32) -> f32 {
  let score = masked(head, i, j, product);
  if (i >= p.queries || j >= p.keys) { return 0.0; }
  let total = total_get(head * p.queries + i);
  return exp(score - select(total, 0.0, total == -inf_f32()));
}
)");
    declare_tile(s, "query", rows, width), declare_tile(s, "key", rows, width);
    declare_tile(s, "d_y", rows, values), declare_tile(s, "value", rows, values);
    declare_tile(s, "weight", rows, rows - 1), declare_tile(s, "d_score", rows, rows - 1);
  }
  std::string fill_queries() const {
    return fill("query", rows, width, "i0", "p.queries", "q_of(head, row, c)") +
           fill("d_y", rows, values, "i0", "p.queries", "dy_of(head, row, c)");
  }
  std::string fill_keys() const {
    return fill("key", rows, width, "j0", "p.keys", "k_of(head, row, c)") +
           fill("value", rows, values, "j0", "p.keys", "v_of(head, row, c)");
  }
  // The probabilities and the gradients of the scores of a tile, [query][key].
  std::string scores() const {
    return format("for (var t = part; t < {}u; t += {}u) {\nlet i = i0 + r;\n", rows, kLanes / rows) +
           dot("product", "query", "r", "key", "t", width) + dot("d_weight", "d_y", "r", "value", "t", values) +
           format(
               "let w = weight_of(head, i, j0 + t, product); var d = 0.0;\nif (i < p.queries) { d = w * (d_weight - delta_get(head * "
               "p.queries + i)); }\nweight[r * {}u + t] = w; d_score[r * {}u + t] = d; }\n",
               rows, rows);
  }
};

void query_gradient(const Call& c, const Gradient& g) {
  const int64_t tiles = divide_up(g.q.shape()[2], g.rows);
  Shader s(c.gpu);
  g.declare(s);
  s.output("dq", c.out[0]);
  s.number("tiles", tiles);
  const std::string n = std::to_string(g.rows) + "u";
  std::string code = lane_places(g.rows) + format("let head = group / p.tiles; let i0 = group % p.tiles * {};\n", n);
  code += accumulators("d", g.width, g.rows) + g.fill_queries();
  code += format("let last = {};\n", g.a.is_causal ? format("min(p.keys, i0 + {})", n) : std::string("p.keys"));
  code += format("for (var j0 = 0u; j0 < last; j0 += {}) {\nworkgroupBarrier();\n", n) + g.fill_keys() + "workgroupBarrier();\n";
  code += g.scores() + "workgroupBarrier();\n";
  code += format("for (var t = 0u; t < {}; t++) { let d_s = d_score[r * {} + t];\n", n, n) +
          columns(g.width, g.rows, format("{ d# = fma(d_s, key[t * {}u + @], d#); }", g.width + 1)) + "}\n}\n";
  code += "if (i0 + r < p.queries) {\n" + columns(g.width, g.rows, "{ dq_set((head * p.queries + i0 + r) * width + @, d# * p.scale); }") +
          "}\n";
  s.run_groups(Checked(g.q.shape()[0]) * g.q.shape()[1] * tiles, kLanes, code);
}

// A workgroup for a tile of keys: all queries of all heads that share them.
void key_gradients(const Call& c, const Gradient& g) {
  const int64_t tiles = divide_up(g.k.shape()[2], g.rows), sets = Checked(g.k.shape()[0]) * g.k.shape()[1];
  Shader s(c.gpu);
  g.declare(s);
  s.output("dk", c.out[1]), s.output("dv", c.out[2]);
  s.number("tiles", tiles);
  const std::string n = std::to_string(g.rows) + "u";
  std::string code = lane_places(g.rows) + format("let key_head = group / p.tiles; let j0 = group % p.tiles * {};\n", n);
  code += accumulators("d", g.width, g.rows) + accumulators("o", g.values, g.rows);
  code += "for (var head = key_head * p.sharing; head < (key_head + 1u) * p.sharing; head++) {\nworkgroupBarrier();\n" + g.fill_keys();
  code += format("for (var i0 = {}; i0 < p.queries; i0 += {}) {\nworkgroupBarrier();\n", g.a.is_causal ? "j0" : "0u", n) + g.fill_queries();
  code += "workgroupBarrier();\n" + g.scores() + "workgroupBarrier();\n";
  code += format("for (var t = 0u; t < {}; t++) { let d_s = d_score[t * {} + r]; let w = weight[t * {} + r];\n", n, n, n) +
          columns(g.width, g.rows, format("{ d# = fma(d_s, query[t * {}u + @], d#); }", g.width + 1)) +
          columns(g.values, g.rows, format("{ o# = fma(w, d_y[t * {}u + @], o#); }", g.values + 1)) + "}\n}\n}\n";
  code += "if (j0 + r < p.keys) {\nlet place = key_head * p.keys + j0 + r;\n" +
          columns(g.width, g.rows, "{ dk_set(place * width + @, d# * p.scale); }") +
          columns(g.values, g.rows, "{ dv_set(place * value_width + @, o#); }") + "}\n";
  s.run_groups(sets * tiles, kLanes, code);
}

bool accepts_grad(OpRef, Inputs in, Outputs) { return tile_rows(gradient_widths(in[1]->shape(), in[3]->shape()), 2) > 0; }
void attention_grad(const Call& c) {
  const Gradient g(c);
  query_gradient(c, g);
  key_gradients(c, g);
}

}  // namespace

void register_attention(KernelTable& kernels) {
  kernels.add(op::attention, attention, accepts, kFloats);
  kernels.add(op::attention_grad, attention_grad, accepts_grad, kFloats);
}

}  // namespace pyburn::wgpu
