// Channel: bytes there and back. A transport implements these two functions.
#pragma once
#include "pyburn/ir/wire.h"

namespace pyburn::remote {

class Channel {
 public:
  virtual ~Channel() = default;
  virtual void send(BytesView message) = 0;  // RemoteError when the other side is gone
  virtual Bytes receive() = 0;               // the answer to the oldest unanswered message
};

}  // namespace pyburn::remote
