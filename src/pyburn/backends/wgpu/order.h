// Which of two elements comes first, in WGSL.
#pragma once
#include "pyburn/backends/wgpu/shader.h"

namespace pyburn::wgpu {

// Declares `fn before(a, b) -> bool`: is a strictly before b? NaN is larger than every number.
inline std::string order_of(Word w, bool ascending) {
  const std::string type = type_name(w);
  std::string less = "a < b";
  if (w == Word::f32) less = "(!is_nan(a) && is_nan(b)) || (a < b && !is_nan(a) && !is_nan(b))";
  else if (w == Word::boolean) less = "!a && b";
  else if (w == Word::i64) less = "i64_lt(a, b)";
  else if (w == Word::u64) less = "u64_lt(a, b)";
  return "fn less(a: " + type + ", b: " + type + ") -> bool { return " + less + "; }\nfn before(a: " + type + ", b: " + type +
         ") -> bool { return " + (ascending ? "less(a, b)" : "less(b, a)") + "; }\n";
}

}  // namespace pyburn::wgpu
