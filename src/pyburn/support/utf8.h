// Text that came from outside: is it UTF-8?
#pragma once
#include <string_view>

namespace pyburn {

bool is_utf8(std::string_view text);  // surrogates and overlong forms are not

}  // namespace pyburn
