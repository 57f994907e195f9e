// JSON in untrusted files: nesting is limited, and mistakes are FormatErrors. Do not include this in other headers.
#pragma once
#include <functional>
#include <nlohmann/json.hpp>
#include <span>
#include <string>

namespace pyburn::io {

using Json = nlohmann::ordered_json;

// `format` is the prefix of messages. `on_key` is called for every key while parsing: duplicates are not in the result.
Json parse_json(std::span<const std::byte> text, int deepest, const char* format,
    const std::function<void(int depth, const std::string& key)>& on_key = {});
std::string dump_json(const Json& value, const char* format, int indent = -1);  // ValueError for text that is not UTF-8
std::string short_text(const Json& value);                                      // for messages

}  // namespace pyburn::io
