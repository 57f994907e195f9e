// Transports: how a client connects to a server. "remote(unix:///tmp/pyburn.sock)" uses the transport with the scheme "unix".
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "pyburn/decorators/remote/channel.h"

namespace pyburn::remote {

struct Transport {
  std::string scheme;  // lower case
  std::string doc;
  // Opens a channel to the server at an address, such as "unix:///tmp/pyburn.sock". RemoteError if the connection fails, DeviceError if the
  // address is invalid.
  std::function<std::unique_ptr<Channel>(const std::string& address)> connect;
};
void register_transport(Transport);  // ValueError if the scheme is taken
std::vector<Transport> transports();

std::unique_ptr<Channel> connect(const std::string& address);  // by the transport of its scheme; DeviceError if there is none

}  // namespace pyburn::remote
