// Server: executes a client's commands on a backend. It answers every input and never crashes.
#pragma once
#include <unordered_map>

#include "pyburn/decorators/remote/protocol.h"
#include "pyburn/runtime/allocator.h"
#include "pyburn/runtime/device.h"
#include "pyburn/support/fork_safe_mutex.h"

namespace pyburn::remote {

// Limits on what one client can allocate or read (docs/limits.md).
struct ServerLimits {
  int64_t storage_bytes = host_memory_limit();  // bytes of all storages of the client; an empty one counts as 64 bytes
  int64_t stretched_bytes = int64_t(1) << 30;   // elements of a tensor whose layout repeats elements of its storage
};

class Server {
 public:
  explicit Server(Ref<Backend> backend, ServerLimits limits = {});
  Bytes answer(BytesView request);
  int64_t storages() const;       // storages of the client
  int64_t storage_bytes() const;  // bytes in them

 private:
  void perform(Command, WireReader& in, WireWriter& out);
  void supports_call(WireReader& in, WireWriter& out) const;
  void hello(WireReader& in, WireWriter& out);
  void allocate(WireReader& in);
  void execute(WireReader& in);
  void execute_dynamic(WireReader& in, WireWriter& out);
  void upload(WireReader& in);
  void download(WireReader& in, WireWriter& out);
  TensorHandle tensor(WireReader& in) const;
  Tensors tensors(WireReader& in) const;  // an absent tensor is undefined
  void require_room(int64_t bytes) const;
  void keep(uint64_t id, Ref<Storage> storage);
  void release(uint64_t id);

  Ref<Backend> backend_;
  ServerLimits limits_;
  Device& device_;
  OpNames names_;
  mutable ForkSafeMutex mutex_;
  std::unordered_map<uint64_t, Ref<Storage>> storages_;
  int64_t storage_bytes_ = 0;
};

}  // namespace pyburn::remote
