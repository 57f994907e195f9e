// "remote(unix:///tmp/pyburn.sock)": operations run on a server on this machine, in a process of its own, over a Unix domain socket. A
// transport opens a channel, which carries a message to the server and the answer back.
#include "pyburn/decorators/remote/transport.h"

#include <sys/socket.h>
#include <sys/un.h>

#include <cerrno>
#include <cstring>

#include "frames.h"
#include "pyburn/plugin.h"

using namespace pyburn;

namespace {

constexpr std::string_view kScheme = "unix://";

class UnixChannel final : public remote::Channel {
 public:
  explicit UnixChannel(int descriptor) : frames_(descriptor) {}
  void send(BytesView message) override { frames_.send(message); }
  Bytes receive() override { return frames_.receive(); }

 private:
  pyburn_unix::Frames frames_;
};

std::unique_ptr<remote::Channel> connect_to(const std::string& address) {
  const std::string path = address.substr(kScheme.size());
  sockaddr_un at{};
  at.sun_family = AF_UNIX;
  require<DeviceError>(path.starts_with('/') && path.size() < sizeof at.sun_path,
      "[remote] expected unix:// and an absolute path of at most {} bytes: got '{}'", int64_t(sizeof at.sun_path - 1), address);
  std::memcpy(at.sun_path, path.c_str(), path.size() + 1);
  const int descriptor = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  require<RemoteError>(descriptor >= 0, "[remote] cannot make a socket: {}", std::strerror(errno));
  auto channel = std::make_unique<UnixChannel>(descriptor);
  require<RemoteError>(::connect(descriptor, reinterpret_cast<const sockaddr*>(&at), sizeof at) == 0, "[remote] cannot connect to {}: {}",
      path, std::strerror(errno));
  return channel;
}

}  // namespace

// What pyburn.load_library calls.
PYBURN_PLUGIN() {
  remote::register_transport({.scheme = "unix", .doc = "A server on this machine, at a Unix domain socket.", .connect = connect_to});
}
