// "{}" formatting for messages, light enough for every header. Types are supported by an overload of to_text(const T&).
#pragma once
#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>

namespace pyburn {

std::string to_text(int64_t v);
std::string to_text(uint64_t v);
std::string to_text(double v);  // the shortest text that parses to the same double
inline std::string to_text(bool v) { return v ? "True" : "False"; }
inline std::string to_text(std::string_view v) { return std::string(v); }
inline std::string to_text(const std::string& v) { return v; }
inline std::string to_text(const char* v) { return v; }
template <std::integral T>
requires(!std::same_as<T, bool> && !std::same_as<T, int64_t> && !std::same_as<T, uint64_t>) std::string to_text(T v) {
  return to_text(int64_t(v));
}

std::string format_strings(std::string_view pattern, std::initializer_list<std::string> values);

template <class... A>
std::string format(std::string_view pattern, const A&... values) {
  return format_strings(pattern, {to_text(values)...});
}

}  // namespace pyburn
