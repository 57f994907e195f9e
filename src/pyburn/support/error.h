// Every user mistake raises one of these exceptions. Message format: "[op] what: got ...".
#pragma once
#include <exception>
#include <string>

#include "pyburn/support/format.h"

namespace pyburn {

class Error : public std::exception {
 public:
  explicit Error(std::string message) : message_(std::move(message)) {}
  const char* what() const noexcept override { return message_.c_str(); }
  // The door adds the name of the operation, once.
  void prefix(std::string_view op);

 private:
  std::string message_;
};

struct ShapeError : Error {
  using Error::Error;
};  // Python: also ValueError (and RuntimeError, as in PyTorch)
struct ValueError : Error {
  using Error::Error;
};
struct IndexError : Error {
  using Error::Error;
};
struct DTypeError : Error {
  using Error::Error;
};  // also TypeError
struct DeviceError : Error {
  using Error::Error;
};  // also RuntimeError
struct UnsupportedOp : Error {
  using Error::Error;
};  // also NotImplementedError
struct FormatError : Error {
  using Error::Error;
};  // also ValueError
struct CaptureError : Error {
  using Error::Error;
};  // also RuntimeError
struct OutOfMemoryError : Error {
  using Error::Error;
};  // also MemoryError
struct RemoteError : Error {
  using Error::Error;
};  // also ConnectionError
struct GradientError : Error {
  using Error::Error;
};  // also RuntimeError
struct Interrupted : Error {
  using Error::Error;
};  // KeyboardInterrupt

template <class E = ShapeError, class... A>
[[noreturn, gnu::noinline, gnu::cold]] void fail(const char* pattern, const A&... values) {
  throw E(format(pattern, values...));
}

template <class E = ShapeError, class... A>
void require(bool ok, const char* pattern, const A&... values) {
  if (!ok) [[unlikely]]
    fail<E>(pattern, values...);
}

}  // namespace pyburn
