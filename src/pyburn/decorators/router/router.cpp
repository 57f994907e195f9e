#include "pyburn/decorators/router/router.h"

#include <vector>

#include "pyburn/runtime/door_ops.h"
#include "pyburn/runtime/run.h"
#include "pyburn/support/log.h"

namespace pyburn {
namespace {

// One operation's tensors, as copies on the fallback. Places that are the same on the primary stay the same there, so
// that an operation that updates its inputs finds them.
class Mirror {
 public:
  Mirror(Backend& primary, Device& fallback) : primary_(primary), fallback_(fallback) {}

  TensorHandle there(const TensorHandle& x) {
    for (const auto& [here, copy] : pairs_)
      if (here.storage() == x.storage() && here.dtype() == x.dtype() && here.layout() == x.layout()) return copy;
    TensorHandle copy = empty_like(fallback_, x.meta());
    move(primary_, x, fallback_.backend(), copy);
    pairs_.emplace_back(x, copy);
    return copy;
  }
  // A fresh tensor on the primary.
  TensorHandle back(const TensorHandle& x, Device& device) {
    TensorHandle copy = make_tensor(device, x.dtype(), contiguous_layout(x.shape()), primary_.allocate(x.dtype(), x.numel()));
    move(fallback_.backend(), x, primary_, copy);
    return copy;
  }
  static TensorHandle empty_like(Device& device, const Meta& m) {
    return make_tensor(device, m.dtype, contiguous_layout(m.shape), device.backend().allocate(m.dtype, m.shape.numel()));
  }

 private:
  void move(Backend& from, const TensorHandle& x, Backend& to, const TensorHandle& y) {
    std::vector<std::byte> bytes(size_t(x.numel() * size_of(x.dtype())));
    const HostArray host{bytes.data(), x.meta()};
    from.download(x, host);
    to.upload(host, y);
  }
  Backend& primary_;
  Device& fallback_;
  std::vector<std::pair<TensorHandle, TensorHandle>> pairs_;
};

// Writes `from` into a tensor that exists. Every backend casts: the door itself needs it.
void write_into(Backend& backend, const TensorHandle& from, TensorHandle& to) {
  const CastTo attrs{to.dtype()};
  const TensorHandle* in = &from;
  run(backend, {&op::cast, &attrs}, {&in, 1}, {&to, 1});
}

}  // namespace

Router::Router(Ref<Backend> primary, Ref<Backend> fallback)
    : primary_(std::move(primary)), fallback_(std::move(fallback)), fallback_device_(device_of(fallback_)) {}

KernelSupport Router::support(const OpInfo& op, DType key) const {
  if (primary_->supports(op, key)) return KernelSupport::native;
  return !op.decompose && fallback_->supports(op, key) ? KernelSupport::native : KernelSupport::none;
}

void Router::execute(OpRef op, Inputs in, Outputs out) {
  const OpInfo& info = *op.info;
  const DType key = key_dtype(info, in, out);
  if (info.kind == Kind::view || primary_->supports(info, key)) return run(*primary_, op, in, out);
  log_once(format(
      "[{}] has no kernel for {} on {}: it runs on {}, with a copy there and back", info.name(), key, primary_->name(), fallback_->name()));

  Device* device = nullptr;
  for (const TensorHandle* t : in)
    if (t->defined()) device = &t->device();
  Mirror mirror(*primary_, fallback_device_);
  Tensors inputs, results;
  SmallVector<const TensorHandle*, 8> list;
  for (const TensorHandle* t : in) inputs.push_back(t->defined() ? mirror.there(*t) : TensorHandle());
  for (const TensorHandle& t : inputs) list.push_back(&t);
  for (const TensorHandle& t : out) {
    if (!t.defined()) results.push_back({});
    else results.push_back(t.storage() ? mirror.there(t) : make_tensor(fallback_device_, t.dtype(), contiguous_layout(t.shape())));
  }
  run(*fallback_, op, {list.data(), size_t(list.size())}, {results.data(), size_t(results.size())});
  for (size_t i = 0; i < out.size(); ++i) {
    if (out[i].defined()) device = &out[i].device();
    TensorHandle copy = mirror.back(results[int64_t(i)], *device);
    if (out[i].defined() && out[i].storage()) write_into(*primary_, copy, out[i]);
    else out[i] = std::move(copy);
  }
}

void register_router_backend() {
  register_backend({.name = "router",
      .doc = "Runs what the first backend can, and the rest on the second: router(wgpu, ndarray).",
      .decorator = true,
      .make = [](std::span<const Ref<Backend>> inner, std::string_view) {
        require<DeviceError>(inner.size() == 2, "[device] router decorates two backends: write router(wgpu, ndarray)");
        return Ref<Backend>(new Router(inner[0], inner[1]));
      }});
}

}  // namespace pyburn
