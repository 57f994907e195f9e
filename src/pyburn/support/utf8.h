// Validates UTF-8 in text from outside.
#pragma once
#include <string_view>

namespace pyburn {

bool is_utf8(std::string_view text);  // rejects surrogates and overlong encodings

}  // namespace pyburn
