// A file system error, with the message of the system. Python: the exception that open() raises, such as FileNotFoundError.
#pragma once
#include "pyburn/support/error.h"

namespace pyburn {

struct FileError : Error {
  // "cannot open the file: No such file or directory: 'weights.pt'"
  FileError(std::string_view what, std::string path, int code);
  const std::string path;
  const int code;  // errno's
};

}  // namespace pyburn
