// Messages over a stream socket: eight bytes of length, little-endian, then the bytes.
#pragma once
#include "pyburn/ir/wire.h"

namespace pyburn_unix {

// An open socket. After any error it is closed, since nobody knows where the next message begins.
class Frames {
 public:
  explicit Frames(int descriptor) : descriptor_(descriptor) {}
  ~Frames() { close(); }
  Frames(const Frames&) = delete;
  Frames& operator=(const Frames&) = delete;

  void send(pyburn::BytesView message);  // RemoteError when the other side is gone
  pyburn::Bytes receive();               // the same
  void close();

 private:
  void write_all(pyburn::BytesView bytes);
  void read_all(std::span<std::byte> to);
  [[noreturn]] void fail_with(const char* what);

  int descriptor_;
};

}  // namespace pyburn_unix
