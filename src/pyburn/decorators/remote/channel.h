// Channel: sends bytes and receives bytes. A transport implements these two functions.
#pragma once
#include "pyburn/ir/wire.h"

namespace pyburn::remote {

class Channel {
 public:
  virtual ~Channel() = default;
  virtual void send(BytesView message) = 0;  // RemoteError if the peer is gone
  virtual Bytes receive() = 0;               // the response to the oldest unanswered message
};

}  // namespace pyburn::remote
