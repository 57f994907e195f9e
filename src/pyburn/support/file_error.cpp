#include "pyburn/support/file_error.h"

#include <system_error>

namespace pyburn {

FileError::FileError(std::string_view what, std::string path, int code)
    : Error(format("{}: {}: '{}'", what, std::generic_category().message(code), path)), path(std::move(path)), code(code) {}

}  // namespace pyburn
