#include "pyburn/backends/wgpu/axis_text.h"

namespace pyburn::wgpu {

std::string per_axis(int axes, std::string_view line, bool backwards) {
  std::string code;
  for (int i = 0; i < axes; ++i)
    for (const char c : line) c == '#' ? code += std::to_string(backwards ? axes - 1 - i : i) : code += c;
  return code;
}

}  // namespace pyburn::wgpu
