#include "pyburn/decorators/remote/protocol.h"

#include <new>

#include "pyburn/support/error.h"

namespace pyburn::remote {

void encode(WireWriter& w, const RemoteTensor& t) {
  w.count(t.id);
  w.byte(uint8_t(t.dtype));
  pyburn::encode(w, t.layout);
}
RemoteTensor decode_tensor(WireReader& r) {
  const uint64_t id = r.count();
  const DType dtype = r.dtype();
  return {id, dtype, decode_layout(r)};
}

namespace {

// One row per class of error. Interrupted is not among them: the server's Ctrl-C is not the client's.
struct ErrorClass {
  const char* name;
  bool (*is)(const Error&);
  void (*raise)(std::string message);
};
template <class E>
constexpr ErrorClass row(const char* name) {
  return {name, [](const Error& e) { return dynamic_cast<const E*>(&e) != nullptr; }, [](std::string m) { throw E(std::move(m)); }};
}
constexpr ErrorClass kClasses[] = {
    row<ShapeError>("ShapeError"),
    row<ValueError>("ValueError"),
    row<IndexError>("IndexError"),
    row<DTypeError>("DTypeError"),
    row<DeviceError>("DeviceError"),
    row<UnsupportedOp>("UnsupportedOp"),
    row<FormatError>("FormatError"),
    row<CaptureError>("CaptureError"),
    row<OutOfMemoryError>("OutOfMemoryError"),
    row<RemoteError>("RemoteError"),
    row<GradientError>("GradientError"),
};

Bytes encoded(std::string_view name, std::string_view message) {
  OpNames none;
  WireWriter w(none);
  w.byte(0);
  w.text(name);
  w.text(message);
  return w.take();
}

}  // namespace

Bytes encode_error() {
  try {
    throw;
  } catch (const Error& e) {
    for (const ErrorClass& c : kClasses)
      if (c.is(e)) return encoded(c.name, e.what());
    return encoded("RemoteError", e.what());
  } catch (const std::bad_alloc&) {
    return encoded("OutOfMemoryError", "[remote] the server is out of memory");
  } catch (const std::exception& e) {
    return encoded("RemoteError", e.what());
  } catch (...) {  // a plugin may throw anything
    return encoded("RemoteError", "[remote] the server raised an exception that is not a std::exception");
  }
}

std::function<void()> decode_error(WireReader& r) {
  const std::string name = r.text(), message = r.text();
  auto raise = row<RemoteError>("").raise;
  for (const ErrorClass& c : kClasses)
    if (name == c.name) raise = c.raise;
  return [raise, message] { raise(message); };
}

}  // namespace pyburn::remote
