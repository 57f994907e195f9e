#include "pyburn/decorators/remote/server.h"

#include <algorithm>

#include "pyburn/ir/signature.h"
#include "pyburn/runtime/run.h"
#include "pyburn/runtime/spoiled.h"
#include "pyburn/support/checked.h"

namespace pyburn::remote {

namespace {

// Even an empty storage takes memory.
int64_t cost_of(int64_t bytes) { return std::max<int64_t>(bytes, 64); }

void check_signature_of(const Operation& op, const Tensors& inputs, int64_t outputs) {
  SmallVector<bool, 8> given;
  for (const TensorHandle& t : inputs) given.push_back(t.defined());
  check_signature(op.ref(), given, outputs);
}

}  // namespace

Server::Server(Ref<Backend> backend, ServerLimits limits) : backend_(std::move(backend)), limits_(limits), device_(device_of(backend_)) {
  for (const OpInfo* op : OpTable::global().rows()) names_.add(op->name());
  names_.sealed = true;
}

int64_t Server::storages() const {
  std::lock_guard lock(mutex_);
  return int64_t(storages_.size());
}

int64_t Server::storage_bytes() const {
  std::lock_guard lock(mutex_);
  return storage_bytes_;
}

Bytes Server::answer(BytesView request) {
  std::lock_guard lock(mutex_);
  try {
    WireReader in(request, names_);
    const LevelScope scope(*backend_);  // an in-process client may be at another level of another stack
    Bytes result;
    do {
      const uint8_t command = in.byte();
      require<FormatError>(command < kCommands, "unknown command: got {}", command);
      WireWriter out(names_);
      out.byte(1);
      perform(Command(command), in, out);
      result = out.take();
    } while (in.left() > 0);
    return result;
  } catch (const FormatError& e) {
    try {
      fail<RemoteError>("[remote] malformed request: {}", e.what());
    } catch (...) {
      return encode_error();
    }
  } catch (...) {
    return encode_error();
  }
}

void Server::perform(Command command, WireReader& in, WireWriter& out) {
  switch (command) {
    case Command::hello:
      return hello(in, out);
    case Command::support: {
      const OpInfo* op = OpTable::global().find(in.text());
      const DType key = in.dtype();
      const KernelSupport here = op ? backend_->known_support(*op, key) : KernelSupport::none;
      return out.byte(uint8_t(here == KernelSupport::by_row ? KernelSupport::native : here));
    }
    case Command::supports_call:
      return supports_call(in, out);
    case Command::allocate:
      return allocate(in);
    case Command::release:
      return release(in.count());
    case Command::execute:
      return execute(in);
    case Command::execute_dynamic:
      return execute_dynamic(in, out);
    case Command::upload:
      return upload(in);
    case Command::download:
      return download(in, out);
    case Command::synchronize:
      return backend_->synchronize();
    case Command::memory: {
      const MemoryStatistics m = backend_->memory();
      return out.integer(m.in_use), out.integer(m.reserved), out.integer(m.peak);
    }
  }
}

void Server::hello(WireReader& in, WireWriter& out) {
  const uint64_t version = in.count();
  require<RemoteError>(version == kVersion, "[remote] client and server differ in version: got {}, expected {}", version, kVersion);
  out.text(backend_->name());
  const Capabilities c = backend_->capabilities();
  out.byte(c.values), out.byte(c.channels_last);
  out.count(c.dtypes.bits());
  out.count(uint64_t(names_.size()));
  for (int64_t i = 0; i < names_.size(); ++i) out.text(names_.name(i));
}

// Shapes and dtypes only: no storage of this server is looked at.
void Server::supports_call(WireReader& in, WireWriter& out) const {
  const Operation op = decode_operation(in);
  const auto read = [&] {
    Tensors list;
    for (int64_t n = in.length(); n > 0; --n) {
      list.push_back({});
      if (!in.boolean()) continue;
      const RemoteTensor t = decode_tensor(in);
      list.back() = make_tensor(device_, t.dtype, t.layout);
    }
    return list;
  };
  const Tensors inputs = read();
  Tensors outputs = read();
  check_signature_of(op, inputs, outputs.size());
  InputList list;
  list.add(inputs);
  out.byte(backend_->supports(op.ref(), list, {outputs.data(), size_t(outputs.size())}));
}

void Server::require_room(int64_t bytes) const {
  require<OutOfMemoryError>(bytes <= limits_.storage_bytes - storage_bytes_,
      "[remote] memory limit of the client exceeded: {} bytes in use, {} more requested, limit {}", storage_bytes_, bytes,
      limits_.storage_bytes);
}

void Server::keep(uint64_t id, Ref<Storage> storage) {
  const int64_t bytes = cost_of(storage->bytes);
  require_room(bytes);
  require<RemoteError>(storages_.try_emplace(id, std::move(storage)).second, "[remote] an id is used twice: got {}", id);
  storage_bytes_ += bytes;
}

void Server::release(uint64_t id) {
  const auto it = storages_.find(id);
  if (it == storages_.end()) return;
  storage_bytes_ -= cost_of(it->second->bytes);
  storages_.erase(it);
}

void Server::allocate(WireReader& in) {
  const uint64_t id = in.count();
  const DType dtype = in.dtype();
  const uint64_t elements = in.count();
  require<OutOfMemoryError>(elements < (uint64_t(1) << 48), "[remote] too many elements: got {}", elements);
  require_room(cost_of(bytes_of(dtype, int64_t(elements))));
  keep(id, backend_->allocate(dtype, int64_t(elements)));
}

// A layout that exceeds its storage would read other memory. Empty tensors read nothing, wherever they start. Tensors that repeat elements
// are small on the wire but may be huge when read; so may sizes next to a size of 0.
TensorHandle Server::tensor(WireReader& in) const {
  const RemoteTensor t = decode_tensor(in);
  const auto it = storages_.find(t.id);
  require<RemoteError>(it != storages_.end(), "[remote] unknown tensor: got id {}", t.id);
  require<RemoteError>(t.layout.numel() == 0 || t.layout.extent().second <= it->second->bytes / size_of(t.dtype),
      "[remote] the layout exceeds the storage: got {}", t.layout);
  Checked elements = 1;
  for (int64_t extent : t.layout.shape) elements *= std::max<int64_t>(extent, 1);
  require<RemoteError>(bytes_of(t.dtype, elements) <= std::max(it->second->bytes, limits_.stretched_bytes),
      "[remote] the layout repeats too many elements: got {}", t.layout);
  return make_tensor(device_, t.dtype, t.layout, it->second);
}

Tensors Server::tensors(WireReader& in) const {
  Tensors list;
  for (int64_t n = in.length(); n > 0; --n) list.push_back(in.boolean() ? tensor(in) : TensorHandle());
  return list;
}

// Through the door, which checks what a client's own door has checked before: the client is not trusted.
void Server::execute(WireReader& in) {
  const Operation op = decode_operation(in);
  require<RemoteError>(op.info().infer && op.info().kind != Kind::dynamic, "[remote] cannot be run with outputs: got {}", op.info().name());
  const Tensors inputs = tensors(in);
  Tensors outputs = tensors(in);
  for (const TensorHandle& t : outputs) require<RemoteError>(t.defined(), "[remote] an output is missing: got {}", op.info().name());
  check_signature_of(op, inputs, outputs.size());
  InputList list;
  list.add(inputs);
  dispatch(op.ref(), list, {outputs.data(), size_t(outputs.size())}, &device_);
}

void Server::execute_dynamic(WireReader& in, WireWriter& out) {
  const Operation op = decode_operation(in);
  require<RemoteError>(op.info().kind == Kind::dynamic, "[remote] the operation is not dynamic: got {}", op.info().name());
  const Tensors inputs = tensors(in);
  std::vector<uint64_t> ids;
  for (int64_t n = in.length(); n > 0; --n) ids.push_back(in.count());
  check_signature_of(op, inputs, int64_t(ids.size()));
  InputList list;
  list.add(inputs);
  Tensors outputs(int64_t(ids.size()), {});
  dispatch(op.ref(), list, {outputs.data(), size_t(outputs.size())}, &device_);
  for (size_t i = 0; i < ids.size(); ++i) {
    const TensorHandle& t = outputs[int64_t(i)];
    require<RemoteError>(
        t.layout().is_contiguous() && t.layout().offset == 0, "[remote] a dynamic result must be contiguous: got {}", t.layout());
    keep(ids[i], Ref<Storage>(t.storage()));
    encode(out, t.meta());
  }
}

void Server::upload(WireReader& in) {
  const TensorHandle to = tensor(in);
  require<RemoteError>(to.layout().is_contiguous(), "[remote] data can only be written to contiguous tensors: got {}", to.layout());
  const BytesView data = in.raw(size_t(bytes_of(to.dtype(), to.numel())));
  backend_->upload({const_cast<std::byte*>(data.data()), to.meta()}, to);
}

void Server::download(WireReader& in, WireWriter& out) {
  const TensorHandle from = tensor(in);
  const std::span<std::byte> to = out.extend(size_t(bytes_of(from.dtype(), from.numel())));
  read_elements(*backend_, from, {to.data(), from.meta()});
}

}  // namespace pyburn::remote
