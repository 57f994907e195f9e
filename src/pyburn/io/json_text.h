// JSON of files, which are untrusted: nothing is nested deeply, and mistakes are a FormatError. Not for other headers.
#pragma once
#include <functional>
#include <nlohmann/json.hpp>
#include <span>
#include <string>

namespace pyburn::io {

using Json = nlohmann::ordered_json;

// `format` stands in front of messages. `on_key` is told every key as it comes by: duplicates are gone afterwards.
Json parse_json(std::span<const std::byte> text, int deepest, const char* format,
    const std::function<void(int depth, const std::string& key)>& on_key = {});
std::string dump_json(const Json& value, const char* format, int indent = -1);  // ValueError where a text is not UTF-8
std::string short_text(const Json& value);                                      // for messages

}  // namespace pyburn::io
