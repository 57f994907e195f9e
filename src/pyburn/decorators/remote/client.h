// The remote backend: operations are sent over a channel to a server, and storages are ids.
#pragma once
#include <map>
#include <memory>

#include "pyburn/decorators/remote/channel.h"
#include "pyburn/decorators/remote/protocol.h"
#include "pyburn/runtime/backend.h"
#include "pyburn/support/fork_safe_mutex.h"

namespace pyburn {

namespace remote {

// Ids whose storages were destroyed. Destructors push without a lock; the next request takes all of them.
class DeadIds : public Counted {
 public:
  struct Entry {
    uint64_t id;
    Entry* next = nullptr;
  };
  void push(Entry*) noexcept;  // takes ownership
  Entry* take() noexcept;
  ~DeadIds() override;

 private:
  std::atomic<Entry*> head_{nullptr};
};

class Client final : public Backend {
 public:
  explicit Client(std::unique_ptr<Channel> channel);  // performs the handshake; RemoteError

  void execute(OpRef op, Inputs in, Outputs out) override;
  KernelSupport support(const OpInfo& op, DType key) const override;
  bool supports_call(OpRef op, Inputs in, Outputs out) const override;
  Capabilities capabilities() const override { return capabilities_; }
  Ref<Storage> allocate(DType dtype, int64_t elements) override;
  void upload(const HostArray& from, const TensorHandle& to) override;
  void download(const TensorHandle& from, const HostArray& to) override;
  void synchronize() override;
  MemoryStatistics memory() const override;
  std::string name() const override { return name_; }

 private:
  struct Allocation {
    uint64_t id;
    DType dtype;
    int64_t elements;
  };
  uint64_t new_id() { return next_id_.fetch_add(1, std::memory_order_relaxed); }
  Ref<Storage> storage_for(uint64_t id, int64_t bytes);
  // Sends pending releases and allocations and one command; passes the response to `read`.
  template <class Write, class Read>
  void ask(Command, Write write, Read read) const;
  void prepend_housekeeping(WireWriter&) const;
  void execute_dynamic(OpRef op, Inputs in, Outputs out);

  std::unique_ptr<Channel> channel_;
  mutable OpNames names_;  // the server's operation numbers; sealed after the handshake
  std::string name_;
  Capabilities capabilities_;
  std::atomic<uint64_t> next_id_{1};
  Ref<DeadIds> dead_;
  mutable ForkSafeMutex mutex_;
  mutable std::vector<Allocation> allocations_;
  mutable std::map<Bytes, bool> known_calls_;  // cache of bounded size: serialized question -> response
};

// A channel to a server in this process.
std::unique_ptr<Channel> in_process_channel(Ref<Backend> backend);

}  // namespace remote

void register_remote_backend();

}  // namespace pyburn
