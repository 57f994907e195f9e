#include "pyburn/backends/wgpu/workgroup.h"

#include "pyburn/support/format.h"

namespace pyburn::wgpu {
namespace {

void declare_fold(Shader& s, const char* name, const char* expression, int size, int columns) {
  s.declare(format("var<workgroup> {}_of: array<f32, {}>;\n", name, size));
  s.declare(format("fn {}(lane: u32, v: f32) -> f32 {\n  workgroupBarrier();\n  {}_of[lane] = v;\n", name, name));
  s.declare(format("  for (var half = {}u; half >= {}u; half = half / 2u) {\n    workgroupBarrier();\n", size / 2, columns));
  s.declare(format(
      "    if (lane < half) { let a = {}_of[lane]; let b = {}_of[lane + half]; {}_of[lane] = {}; }\n  }\n", name, name, name, expression));
  s.declare(format("  workgroupBarrier();\n  return {}_of[lane % {}u];\n}\n", name, columns));
}

}  // namespace

void declare_total(Shader& s, int size, int columns) { declare_fold(s, "total", "a + b", size, columns); }
void declare_largest(Shader& s, int size) {
  s.declare("fn larger(a: f32, b: f32) -> f32 { return select(a, b, b > a || is_nan(b)); }\n");
  declare_fold(s, "largest", "larger(a, b)", size, 1);
}
int lanes_for(int64_t length) { return length > 512 ? 256 : 64; }

}  // namespace pyburn::wgpu
