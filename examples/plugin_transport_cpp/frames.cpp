#include "frames.h"

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstring>

#include "pyburn/support/error.h"
#include "pyburn/support/interrupt.h"
#include "pyburn/support/patient_lock.h"

using namespace pyburn;

namespace pyburn_unix {
namespace {

static_assert(std::endian::native == std::endian::little);
constexpr uint64_t kLargest = uint64_t(1) << 36;  // bytes
constexpr uint64_t kPiece = uint64_t(1) << 20;

// Waits until the socket can be read or written. Python's other threads run meanwhile, and Ctrl-C is noticed.
void wait_for(int descriptor, short event) {
  pollfd waiting{descriptor, event, 0};
  while_waiting([](void* on) { ::poll(static_cast<pollfd*>(on), 1, -1); }, &waiting);
  if (waiting.revents == 0 && poll_interrupt) poll_interrupt();  // a signal came
}

}  // namespace

void Frames::close() {
  if (descriptor_ >= 0) ::close(std::exchange(descriptor_, -1));
}

void Frames::fail_with(const char* what) {
  close();
  fail<RemoteError>("[remote] {}", what);
}

void Frames::write_all(BytesView bytes) {
  while (!bytes.empty()) {
    const ssize_t n = ::send(descriptor_, bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (n > 0) bytes = bytes.subspan(size_t(n));
    else if (errno == EAGAIN) wait_for(descriptor_, POLLOUT);
    else if (errno != EINTR) fail_with(std::strerror(errno));
  }
}

void Frames::read_all(std::span<std::byte> to) {
  while (!to.empty()) {
    const ssize_t n = ::recv(descriptor_, to.data(), to.size(), MSG_DONTWAIT);
    if (n > 0) to = to.subspan(size_t(n));
    else if (n == 0) fail_with("the other side has closed the connection");
    else if (errno == EAGAIN) wait_for(descriptor_, POLLIN);
    else if (errno != EINTR) fail_with(std::strerror(errno));
  }
}

void Frames::send(BytesView message) {
  if (descriptor_ < 0) fail_with("the connection is closed");
  try {
    const uint64_t size = message.size();
    write_all(std::as_bytes(std::span(&size, 1)));
    write_all(message);
  } catch (...) {  // Ctrl-C, for one, in the middle of a message
    close();
    throw;
  }
}

Bytes Frames::receive() {
  if (descriptor_ < 0) fail_with("the connection is closed");
  try {
    uint64_t size = 0;
    read_all(std::as_writable_bytes(std::span(&size, 1)));
    if (size > kLargest) fail_with("the message is too large");
    Bytes message;
    while (message.size() < size) {  // memory grows with what has arrived, not with what was announced
      const size_t before = message.size();
      message.resize(before + size_t(std::min(kPiece, size - before)));
      read_all(std::span(message).subspan(before));
    }
    return message;
  } catch (...) {
    close();
    throw;
  }
}

}  // namespace pyburn_unix
