#include "pyburn/support/format.h"

#include <charconv>
#include <cmath>
#include <cstdlib>

namespace pyburn {

std::string to_text(int64_t v) { return std::to_string(v); }
std::string to_text(uint64_t v) { return std::to_string(v); }

std::string to_text(double v) {
  if (std::isnan(v)) return "nan";
  if (std::isinf(v)) return v > 0 ? "inf" : "-inf";
  char buffer[40];
  const auto written = [&](std::chars_format format) {
    return std::string(buffer, std::to_chars(buffer, buffer + sizeof buffer, v, format).ptr);
  };
  std::string text = written(std::chars_format::scientific);
  const int exponent = std::atoi(text.c_str() + text.find('e') + 1);
  if (exponent >= -4 && exponent < 16) text = written(std::chars_format::fixed);  // as Python chooses
  if (text.find_first_of(".en") == std::string::npos) text += ".0";
  return text;
}

std::string format_strings(std::string_view pattern, std::initializer_list<std::string> values) {
  std::string text;
  auto value = values.begin();
  for (size_t i = 0; i < pattern.size(); ++i) {
    if (pattern[i] == '{' && i + 1 < pattern.size() && pattern[i + 1] == '}' && value != values.end()) {
      text += *value++;
      ++i;
    } else {
      text += pattern[i];
    }
  }
  return text;
}

}  // namespace pyburn
