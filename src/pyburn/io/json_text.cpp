#include "pyburn/io/json_text.h"

#include "pyburn/support/error.h"

namespace pyburn::io {

Json parse_json(std::span<const std::byte> text, int deepest, const char* format,
    const std::function<void(int depth, const std::string& key)>& on_key) {
  const auto* begin = reinterpret_cast<const char*>(text.data());
  const auto check = [&](int depth, Json::parse_event_t event, Json& value) {
    require<FormatError>(depth <= deepest, "[{}] the header is nested too deeply", format);
    if (on_key && event == Json::parse_event_t::key) on_key(depth, value.get<std::string>());
    return true;
  };
  try {
    return Json::parse(begin, begin + text.size(), check);
  } catch (const Json::exception& e) {
    fail<FormatError>("[{}] the header is not valid JSON: {}", format, e.what());
  }
}

std::string dump_json(const Json& value, const char* format, int indent) {
  try {
    return value.dump(indent);
  } catch (const Json::exception&) {
    fail<ValueError>("[{}] names and metadata must be valid UTF-8", format);
  }
}

std::string short_text(const Json& value) {
  constexpr size_t kLongest = 80;
  const std::string text = value.dump(-1, ' ', false, Json::error_handler_t::replace);
  return text.size() <= kLongest ? text : text.substr(0, kLongest) + "...";
}

}  // namespace pyburn::io
