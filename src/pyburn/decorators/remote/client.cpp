#include "pyburn/decorators/remote/client.h"

#include <cstring>
#include <deque>

#include "pyburn/decorators/remote/server.h"
#include "pyburn/decorators/remote/transport.h"
#include "pyburn/support/error.h"
#include "pyburn/support/patient_lock.h"

namespace pyburn {
namespace remote {

void DeadIds::push(Entry* e) noexcept {
  e->next = head_.load(std::memory_order_relaxed);
  while (!head_.compare_exchange_weak(e->next, e, std::memory_order_release, std::memory_order_relaxed)) {
  }
}
DeadIds::Entry* DeadIds::take() noexcept { return head_.exchange(nullptr, std::memory_order_acquire); }
DeadIds::~DeadIds() {
  for (Entry* e = take(); e;) delete std::exchange(e, e->next);
}

namespace {

class RemoteStorage final : public Storage {
 public:
  RemoteStorage(Backend* owner, int64_t bytes, uint64_t id, Ref<DeadIds> dead)
      : Storage(owner, bytes), entry_(new DeadIds::Entry{id}), dead_(std::move(dead)) {}
  ~RemoteStorage() override { dead_->push(entry_); }
  uint64_t id() const { return entry_->id; }

 private:
  DeadIds::Entry* entry_;  // made here, so that the destructor allocates nothing
  Ref<DeadIds> dead_;
};

void write_tensor(WireWriter& w, const TensorHandle& t) {
  encode(w, RemoteTensor{static_cast<const RemoteStorage*>(t.storage())->id(), t.dtype(), t.layout()});
}
void write_optional(WireWriter& w, const TensorHandle& t) {
  w.byte(t.defined());
  if (t.defined()) write_tensor(w, t);
}

class InProcessChannel final : public Channel {
 public:
  explicit InProcessChannel(Ref<Backend> backend) : server_(std::move(backend)) {}
  void send(BytesView message) override { answers_.push_back(server_.answer(message)); }
  Bytes receive() override {
    require<RemoteError>(!answers_.empty(), "[remote] empty request");
    Bytes first = std::move(answers_.front());
    answers_.pop_front();
    return first;
  }

 private:
  Server server_;
  std::deque<Bytes> answers_;
};

const auto nothing_to_write = [](WireWriter&) {};
const auto nothing_to_read = [](WireReader&) {};

}  // namespace

std::unique_ptr<Channel> in_process_channel(Ref<Backend> backend) { return std::make_unique<InProcessChannel>(std::move(backend)); }

// Dead ids first: their memory serves the allocations.
void Client::prepend_housekeeping(WireWriter& w) const {
  for (DeadIds::Entry* e = dead_->take(); e;) {
    const std::unique_ptr<DeadIds::Entry> entry(std::exchange(e, e->next));
    w.byte(uint8_t(Command::release));
    w.count(entry->id);
  }
  for (const Allocation& a : allocations_) {
    w.byte(uint8_t(Command::allocate));
    w.count(a.id);
    w.byte(uint8_t(a.dtype));
    w.count(uint64_t(a.elements));
  }
  allocations_.clear();
}

template <class Write, class Read>
void Client::ask(Command command, Write write, Read read) const {
  const PatientLock lock(mutex_);  // a channel may give up Python's lock while it waits
  WireWriter w(names_);
  prepend_housekeeping(w);
  w.byte(uint8_t(command));
  write(w);
  channel_->send(w.take());
  const Bytes answer = channel_->receive();
  WireReader r(answer, names_);
  std::function<void()> raise;
  try {
    if (r.boolean()) read(r);
    else raise = decode_error(r);
    r.end();
  } catch (const FormatError& e) {
    fail<RemoteError>("[remote] malformed response: {}", e.what());
  }
  if (raise) raise();
}

Client::Client(std::unique_ptr<Channel> channel) : channel_(std::move(channel)), dead_(make_ref<DeadIds>()) {
  ask(
      Command::hello, [](WireWriter& w) { w.count(kVersion); },
      [&](WireReader& r) {
        name_ = "remote(" + r.text() + ")";
        capabilities_.values = r.boolean();
        capabilities_.channels_last = r.boolean();
        capabilities_.dtypes = DTypeSet(r.count());
        for (int64_t n = r.length(); n > 0; --n) names_.add(r.text());
        names_.sealed = true;
      });
}

// What the server's backend decomposes is decomposed here, so that views stay views of this side's storages.
KernelSupport Client::support(const OpInfo& op, DType key) const {
  if (names_.find(op) < 0) return KernelSupport::none;
  auto support = KernelSupport::none;
  ask(
      Command::support, [&](WireWriter& w) { w.text(op.name()), w.byte(uint8_t(key)); },
      [&](WireReader& r) {
        const uint8_t answer = r.byte();
        require<FormatError>(answer <= uint8_t(KernelSupport::depends), "unknown support value: got {}", answer);
        support = KernelSupport(answer);
      });
  return support;
}

// A question for the server, once per form of the call: training asks the same ones again and again.
bool Client::supports_call(OpRef op, Inputs in, Outputs out) const {
  constexpr size_t kMostKnown = 4096;
  const auto question = [&](WireWriter& w) {
    const auto describe = [&](const TensorHandle& t) {
      w.byte(t.defined());
      if (t.defined()) encode(w, RemoteTensor{0, t.dtype(), t.layout()});
    };
    encode(w, op);
    w.count(in.size());
    for (const TensorHandle* t : in) describe(*t);
    w.count(out.size());
    for (const TensorHandle& t : out) describe(t);
  };
  WireWriter key(names_);
  question(key);
  Bytes asked = key.take();
  {
    const PatientLock lock(mutex_);
    if (const auto it = known_calls_.find(asked); it != known_calls_.end()) return it->second;
  }
  bool native = false;
  ask(Command::supports_call, question, [&](WireReader& r) { native = r.boolean(); });
  const PatientLock lock(mutex_);
  if (known_calls_.size() >= kMostKnown) known_calls_.clear();
  known_calls_.emplace(std::move(asked), native);
  return native;
}

Ref<Storage> Client::storage_for(uint64_t id, int64_t bytes) { return Ref<Storage>(new RemoteStorage(this, bytes, id, dead_)); }

Ref<Storage> Client::allocate(DType dtype, int64_t elements) {
  require_dtype(*this, dtype);
  const uint64_t id = new_id();
  Ref<Storage> storage = storage_for(id, bytes_of(dtype, elements));
  const PatientLock lock(mutex_);
  allocations_.push_back({id, dtype, elements});
  return storage;
}

void Client::execute(OpRef op, Inputs in, Outputs out) {
  if (op.info->kind == Kind::dynamic) return execute_dynamic(op, in, out);
  ask(
      Command::execute,
      [&](WireWriter& w) {
        encode(w, op);
        w.count(in.size());
        for (const TensorHandle* t : in) write_optional(w, *t);
        w.count(out.size());
        for (const TensorHandle& t : out) write_optional(w, t);
      },
      nothing_to_read);
}

void Client::execute_dynamic(OpRef op, Inputs in, Outputs out) {
  std::vector<uint64_t> ids;
  ask(
      Command::execute_dynamic,
      [&](WireWriter& w) {
        encode(w, op);
        w.count(in.size());
        for (const TensorHandle* t : in) write_optional(w, *t);
        w.count(out.size());
        for (size_t i = 0; i < out.size(); ++i) w.count(ids.emplace_back(new_id()));
      },
      [&](WireReader& r) {
        for (size_t i = 0; i < out.size(); ++i) {
          const Meta m = decode_meta(r);
          out[i] =
              make_tensor(in[0]->device(), m.dtype, contiguous_layout(m.shape), storage_for(ids[i], bytes_of(m.dtype, m.shape.numel())));
        }
      });
}

void Client::upload(const HostArray& from, const TensorHandle& to) {
  ask(
      Command::upload,
      [&](WireWriter& w) {
        write_tensor(w, to);
        w.raw({static_cast<const std::byte*>(from.data), size_t(from.bytes())});
      },
      nothing_to_read);
}

void Client::download(const TensorHandle& from, const HostArray& to) {
  ask(
      Command::download, [&](WireWriter& w) { write_tensor(w, from); },
      [&](WireReader& r) {
        const BytesView data = r.raw(size_t(to.bytes()));
        if (!data.empty()) std::memcpy(to.data, data.data(), data.size());
      });
}

void Client::synchronize() { ask(Command::synchronize, nothing_to_write, nothing_to_read); }

MemoryStatistics Client::memory() const {
  MemoryStatistics m;
  ask(Command::memory, nothing_to_write, [&](WireReader& r) {
    m.in_use = r.integer();
    m.reserved = r.integer();
    m.peak = r.integer();
  });
  return m;
}

}  // namespace remote

void register_remote_backend() {
  register_backend({.name = "remote",
      .doc = "Runs operations on a server: in this process for remote(ndarray), at an address for remote(scheme://address).",
      .decorator = true,
      .make = [](std::span<const Ref<Backend>> inner, std::string_view address) {
        require<DeviceError>(inner.size() == (address.empty() ? 1 : 0),
            "[device] remote takes one backend or one address: write remote(ndarray) or remote(scheme://address)");
        return Ref<Backend>(
            new remote::Client(address.empty() ? remote::in_process_channel(inner[0]) : remote::connect(std::string(address))));
      }});
}

}  // namespace pyburn
