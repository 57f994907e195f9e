// Transports: how a client reaches a server. "remote(unix:///tmp/pyburn.sock)" is opened by the transport of the scheme "unix".
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "pyburn/decorators/remote/channel.h"

namespace pyburn::remote {

struct Transport {
  std::string scheme;  // lower case
  std::string doc;
  // Opens a channel to the server at an address, such as "unix:///tmp/pyburn.sock". RemoteError where nobody answers, DeviceError where the
  // address makes no sense.
  std::function<std::unique_ptr<Channel>(const std::string& address)> connect;
};
void register_transport(Transport);  // ValueError when the scheme is taken
std::vector<Transport> transports();

std::unique_ptr<Channel> connect(const std::string& address);  // by the transport of its scheme; DeviceError when there is none

}  // namespace pyburn::remote
