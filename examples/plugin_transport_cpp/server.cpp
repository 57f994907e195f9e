// server PATH [DEVICE]: lets clients run operations on a device of this process. It trusts no client: whatever arrives is answered, or the
// connection is closed. Only this user may connect.
#include "pyburn/decorators/remote/server.h"

#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <thread>

#include "frames.h"
#include "pyburn/pyburn.h"

using namespace pyburn;

namespace {

constexpr int kMostClients = 64;
std::atomic<int> clients{0};

void serve(int descriptor, Ref<Backend> backend) {
  try {
    pyburn_unix::Frames frames(descriptor);
    remote::Server server(std::move(backend));  // the tensors of one client: they go with the connection
    for (;;) frames.send(server.answer(frames.receive()));
  } catch (const std::exception& e) {
    std::fprintf(stderr, "client left: %s\n", e.what());
  }
  --clients;
}

int listen_at(const char* path) {
  sockaddr_un at{};
  at.sun_family = AF_UNIX;
  require<ValueError>(std::strlen(path) < sizeof at.sun_path, "the path is too long: got '{}'", path);
  std::strcpy(at.sun_path, path);
  ::umask(0077);
  const int descriptor = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  require<RemoteError>(
      descriptor >= 0 && ::bind(descriptor, reinterpret_cast<const sockaddr*>(&at), sizeof at) == 0 && ::listen(descriptor, SOMAXCONN) == 0,
      "cannot listen at {}: {}", path, std::strerror(errno));
  return descriptor;
}

}  // namespace

int main(int argc, char** argv) try {
  require<ValueError>(argc == 2 || argc == 3, "expected: server PATH [DEVICE]");
  start();
  const Ref<Backend> backend = make_backend(argc == 3 ? argv[2] : "ndarray");
  const int descriptor = listen_at(argv[1]);
  std::printf("listening\n");
  std::fflush(stdout);
  for (;;) {
    const int client = ::accept4(descriptor, nullptr, nullptr, SOCK_CLOEXEC);
    if (client < 0) {
      require<RemoteError>(errno == EINTR || errno == ECONNABORTED || errno == EMFILE, "cannot accept: {}", std::strerror(errno));
      continue;
    }
    if (++clients > kMostClients) {
      --clients;
      ::close(client);
      continue;
    }
    std::thread(serve, client, backend).detach();
  }
} catch (const std::exception& e) {
  std::fprintf(stderr, "server: %s\n", e.what());
  return 1;
}
