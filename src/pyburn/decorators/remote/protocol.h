// The protocol between client and server. A request is a list of commands; the response is that of the last one, or the first error.
// Tensors are identified by the id of their storage, which the client chooses, and a layout.
#pragma once
#include "pyburn/ir/wire.h"

namespace pyburn::remote {

inline constexpr uint32_t kVersion = 2;

enum class Command : uint8_t {
  hello,            // version -> name of the backend, its capabilities, names of the operations in the server's order
  support,          // operation name, dtype -> KernelSupport
  supports_call,    // operation, a tensor without an id per input and output -> bool
  allocate,         // id, dtype, elements
  release,          // id; unknown ids are ignored, because an allocation may have failed
  execute,          // operation, inputs, outputs -> nothing
  execute_dynamic,  // operation, inputs, ids for the outputs -> a Meta per output
  upload,           // tensor, data
  download,         // tensor -> data
  synchronize,
  memory,  // -> in use, reserved, peak
};
inline constexpr int kCommands = 11;

struct RemoteTensor {
  uint64_t id;
  DType dtype;
  Layout layout;
};
void encode(WireWriter&, const RemoteTensor&);
RemoteTensor decode_tensor(WireReader&);

// Errors keep their class and message. encode_error reads the current exception.
Bytes encode_error();
std::function<void()> decode_error(WireReader&);  // raises it when called

}  // namespace pyburn::remote
