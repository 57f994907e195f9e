// Three ways to form a product: tiles in workgroup memory with a block of results per thread; where one side is thin a workgroup per
// result, if its elements follow each other along k; else a thread per result.
#include "pyburn/backends/wgpu/product.h"

#include <algorithm>

#include "pyburn/support/checked.h"
#include "pyburn/support/error.h"

namespace pyburn::wgpu {
namespace {

constexpr int kTileK = 16;
constexpr int64_t kThin = 4;            // rows or columns that do not pay for a tile
constexpr int64_t kFewGroups = 64;      // fewer workgroups leave a GPU idle
constexpr int64_t kShortestPart = 256;  // of a sum that is split

std::string zero(const Product& p) { return is_wide(p.type) ? "vec2<u32>(0u, 0u)" : std::string(type_name(p.type)) + "(0)"; }
std::string plus_product(const Product& p, const std::string& sum, const std::string& a, const std::string& b) {
  if (p.type == Word::f32) return "fma(" + a + ", " + b + ", " + sum + ")";
  return is_wide(p.type) ? "i64_add(" + sum + ", i64_mul(" + a + ", " + b + "))" : sum + " + " + a + " * " + b;
}

void declare_operands(Shader& s, const Product& p) {
  const std::string type = type_name(p.type);
  p.inputs(s);
  s.number("k", p.k);
  s.number("m", p.m);
  s.number("n", p.n);
  s.declare("fn left_at(batch: u32, row: u32, k: u32, place: vec4<u32>) -> " + type + " { " + p.left + " }\n");
  s.declare("fn right_at(batch: u32, k: u32, column: u32, place: vec4<u32>) -> " + type + " { " + p.right + " }\n");
  for (const bool left : {true, false}) {
    const std::string& body = left ? p.left_place : p.right_place;
    s.declare(format("fn {}_place(batch: u32, index: u32) -> vec4<u32> { {} }\n", left ? "left" : "right",
        body.empty() ? "return vec4<u32>(0u);" : body));
  }
}
void declare_finish(Shader& s, const Product& p) {
  p.outputs(s);
  s.declare("fn finish(batch: u32, row: u32, column: u32, sum: " + std::string(type_name(p.type)) + ") { " + p.store + " }\n");
}

// Results follow each other along columns.
constexpr const char* kPlaceOfResult = R"(
  let column = result % p.n;
  let row = result / p.n % p.m;
  let batch = result / (p.n * p.m);
)";

// Adds up the products for k from `first` on in steps.
std::string sum_loop(const Product& p, const char* first, const char* step) {
  const std::string left = "let left_here = left_place(batch, ", right = "let right_here = right_place(batch, ";
  std::string code = "var sum = " + zero(p) + ";\n";
  if (!p.left_along_k) code += left + "row);\n";
  if (!p.right_along_k) code += right + "column);\n";
  code += format("for (var k = {}; k < p.k; k += {}) {\n", first, step);
  if (p.left_along_k) code += left + "k);\n";
  if (p.right_along_k) code += right + "k);\n";
  return code + "sum = " + plus_product(p, "sum", "left_at(batch, row, k, left_here)", "right_at(batch, k, column, right_here)") + ";\n}\n";
}

void by_threads(const Call& c, const Product& p) {
  Shader s(c.gpu);
  declare_operands(s, p);
  declare_finish(s, p);
  s.run_each(Checked(p.batches) * p.m * p.n,
      format("let result = i;{}{}finish(batch, row, column, sum);", kPlaceOfResult, sum_loop(p, "0u", "1u")));
}

void by_rows(const Call& c, const Product& p) {
  Shader s(c.gpu);
  declare_operands(s, p);
  declare_finish(s, p);
  s.declare(format("var<workgroup> partial: array<{}, 64>;\n", type_name(p.type)));
  const char* total = is_wide(p.type) ? "i64_add(partial[lane], partial[lane + half])" : "partial[lane] + partial[lane + half]";
  s.run_groups(Checked(p.batches) * p.m * p.n, 64,
      format("let result = group;{}{}", kPlaceOfResult, sum_loop(p, "lane", "64u")) + format(R"(
  partial[lane] = sum;
  for (var half = 32u; half > 0u; half = half / 2u) {
    workgroupBarrier();
    if (lane < half) { partial[lane] = {}; }
  }
  if (lane == 0u) { finish(batch, row, column, partial[0]); })",
                                                                                          total));
}

// A tile of results: `size` rows or columns, `block` of them for each thread.
struct Side {
  int64_t size, block;
  explicit Side(int64_t extent) : size(extent > 32 ? 64 : extent > 16 ? 32 : 16), block(size > 16 ? 4 : 2) {}
  int64_t threads() const { return size / block; }
};

// Code that fills the tile of one operand from k0 on. Tiles are ordered by k: name[k * size + row].
std::string fill_tile(const Product& p, const char* name, const Side& side, int threads, bool along_k, bool quads) {
  const bool is_left = name[0] == 'l';
  const std::string size = std::to_string(side.size) + "u", across = is_left ? "row" : "column";
  const int step = quads ? 4 : 1;
  const int64_t loads = side.size * kTileK / step;
  // Neighbouring lanes go along the contiguous direction.
  const std::string inner = std::to_string((along_k ? kTileK : side.size) / step) + "u", times = quads ? " * 4u" : "";
  const std::string first = "e % " + inner + times, second = "e / " + inner;
  std::string code = format("  for (var e = lane; e < {}u; e += {}u) {\n", loads, threads);
  code += "    let tk = " + (along_k ? first : second) + ";\n    let t = " + (along_k ? second : first) + ";\n";
  const std::string place =
      std::string(is_left ? "(batch, row0 + t, k0 + tk" : "(batch, k0 + tk, column0 + t") + (quads ? ")" : format(", {}_here)", name));
  code += "    var v = " + (quads ? std::string("vec4<f32>(0.0)") : zero(p)) + ";\n";
  code += "    if (k0 + tk < last_k && " + across + "0 + t < p." + (is_left ? "m" : "n") + ") { v = " + name + (quads ? "4" : "_at") +
          place + "; }\n";
  for (int j = 0; j < step; ++j) {
    const std::string shift = std::to_string(j) + "u";
    code += std::string("    ") + name + "_tile[" +
            (!quads       ? "tk * " + size + " + t] = v"
                : along_k ? "(tk + " + shift + ") * " + size + " + t] = v[" + std::to_string(j) + "]"
                          : "tk * " + size + " + t + " + shift + "] = v[" + std::to_string(j) + "]") +
            ";\n";
  }
  return code + "  }\n";
}

// parts > 1: sums over parts of k, kept in `partial` (part, batch, row, column).
void by_tiles(const Call& c, const Product& p, int64_t parts, int64_t part, const TensorHandle* partial) {
  const Side rows(p.m), columns(p.n);
  const int threads = int(rows.threads() * columns.threads());
  const int64_t down = divide_up(p.m, rows.size), across = divide_up(p.n, columns.size);
  const std::string type = type_name(p.type);
  Shader s(c.gpu);
  declare_operands(s, p);
  if (partial) {
    s.output("partial", *partial);
    s.number("batches", p.batches);
    s.declare("fn finish(batch: u32, row: u32, column: u32, sum: " + type + ") {}\n");
  } else {
    declare_finish(s, p);
  }
  s.number("down", down), s.number("across", across), s.number("part", part);
  const bool left4 = !p.left4.empty(), right4 = !p.right4.empty();
  if (left4) s.declare("fn left4(batch: u32, row: u32, k: u32) -> vec4<f32> { " + p.left4 + " }\n");
  if (right4) s.declare("fn right4(batch: u32, k: u32, column: u32) -> vec4<f32> { " + p.right4 + " }\n");
  s.declare(format("var<workgroup> left_tile: array<{}, {}>;\nvar<workgroup> right_tile: array<{}, {}>;\n", type, rows.size * kTileK, type,
      columns.size * kTileK));

  std::string code = format(R"(
  let tile = group % (p.down * p.across);
  let column0 = tile % p.across * {}u;
  let row0 = tile / p.across * {}u;
  let slot = group / (p.down * p.across);
)",
      columns.size, rows.size);
  code += partial ? "  let batch = slot % p.batches;\n  let first_k = slot / p.batches * p.part;\n"
                  : "  let batch = slot;\n  let first_k = 0u;\n";
  code += format("  let last_k = min(p.k, first_k + p.part);\n  let r = lane / {}u * {}u;\n  let q = lane % {}u * {}u;\n",
      columns.threads(), rows.block, columns.threads(), columns.block);
  const auto each = [&](auto body) {
    for (int64_t i = 0; i < rows.block; ++i)
      for (int64_t j = 0; j < columns.block; ++j) code += body(i, j);
  };
  each([&](int64_t i, int64_t j) { return format("  var s{}{} = {};\n", i, j, zero(p)); });
  // Lanes are a multiple of a tile's rows and columns, so that a thread meets one of them only: or one k of each tile.
  const std::string left_here = "  let left_here = left_place(batch, ", right_here = "  let right_here = right_place(batch, ";
  if (!p.left_along_k) code += left_here + format("row0 + lane % {}u);\n", rows.size);
  if (!p.right_along_k) code += right_here + format("column0 + lane % {}u);\n", columns.size);
  code += format("  for (var k0 = first_k; k0 < last_k; k0 += {}u) {\n", kTileK);
  if (p.left_along_k) code += left_here + format("k0 + lane % {}u);\n", kTileK);
  if (p.right_along_k) code += right_here + format("k0 + lane % {}u);\n", kTileK);
  code += fill_tile(p, "left", rows, threads, p.left_along_k, left4);
  code += fill_tile(p, "right", columns, threads, p.right_along_k, right4);
  code += format("  workgroupBarrier();\n  for (var t = 0u; t < {}u; t++) {\n", kTileK);
  for (int64_t i = 0; i < rows.block; ++i) code += format("    let a{} = left_tile[t * {}u + r + {}u];\n", i, rows.size, i);
  for (int64_t j = 0; j < columns.block; ++j) code += format("    let b{} = right_tile[t * {}u + q + {}u];\n", j, columns.size, j);
  each([&](int64_t i, int64_t j) {
    const std::string sum = format("s{}{}", i, j);
    return "    " + sum + " = " + plus_product(p, sum, format("a{}", i), format("b{}", j)) + ";\n";
  });
  code += "  }\n  workgroupBarrier();\n  }\n";
  each([&](int64_t i, int64_t j) {
    const std::string row = format("row0 + r + {}u", i), column = format("column0 + q + {}u", j), sum = format("s{}{}", i, j);
    const std::string stored = partial ? "partial_store(((slot * p.m) + " + row + ") * p.n + " + column + ", " + sum + ")"
                                       : "finish(batch, " + row + ", " + column + ", " + sum + ")";
    return "  if (" + row + " < p.m && " + column + " < p.n) { " + stored + "; }\n";
  });
  s.run_groups(Checked(parts) * p.batches * down * across, threads, code);
}

void add_parts(const Call& c, const Product& p, int64_t parts, const TensorHandle& partial) {
  Shader s(c.gpu);
  s.input("partial", partial);
  s.number("m", p.m), s.number("n", p.n), s.number("parts", parts);
  declare_finish(s, p);
  const std::string more = "partial_load(part * p.count + i)";
  s.run_each(Checked(p.batches) * p.m * p.n,
      "let result = i;" + std::string(kPlaceOfResult) + "var sum = " + zero(p) + ";\nfor (var part = 0u; part < p.parts; part++) { sum = " +
          (is_wide(p.type) ? "i64_add(sum, " + more + ")" : "sum + " + more) + "; }\nfinish(batch, row, column, sum);");
}

}  // namespace

void run_product(const Call& c, const Product& p) {
  if (std::min(p.m, p.n) <= kThin) {
    const bool follows = p.m <= p.n ? p.right_along_k : p.left_along_k;
    return follows && p.k >= 64 ? by_rows(c, p) : by_threads(c, p);
  }
  const int64_t groups = Checked(p.batches) * divide_up(p.m, Side(p.m).size) * divide_up(p.n, Side(p.n).size);
  const int64_t wanted = groups < kFewGroups ? std::min(kFewGroups * 2 / groups, p.k / kShortestPart) : 1;
  if (wanted <= 1) return by_tiles(c, p, 1, p.k, nullptr);
  const int64_t part = divide_up(divide_up(p.k, wanted), kTileK) * kTileK, parts = divide_up(p.k, part);
  constexpr DType kPartial[] = {DType::float32, DType::int32, DType::uint32, DType::boolean, DType::int64, DType::uint64};  // by Word
  const TensorHandle partial = scratch(c, kPartial[int(p.type)], Shape{Checked(parts) * p.batches * p.m * p.n});
  by_tiles(c, p, parts, part, &partial);
  add_parts(c, p, parts, partial);
}

}  // namespace pyburn::wgpu
