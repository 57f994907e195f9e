// Server: executes a client's commands on a backend. Whatever arrives, it answers; it does not crash.
#pragma once
#include <unordered_map>

#include "pyburn/decorators/remote/protocol.h"
#include "pyburn/runtime/device.h"
#include "pyburn/support/fork_safe_mutex.h"

namespace pyburn::remote {

class Server {
 public:
  explicit Server(Ref<Backend> backend);
  Bytes answer(BytesView request);
  int64_t storages() const;  // held for the client

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
  Tensors tensors(WireReader& in) const;  // an absent one is undefined
  void keep(uint64_t id, Ref<Storage> storage);

  Ref<Backend> backend_;
  Device& device_;
  OpNames names_;
  mutable ForkSafeMutex mutex_;
  std::unordered_map<uint64_t, Ref<Storage>> storages_;
};

}  // namespace pyburn::remote
