#include "pyburn/decorators/router/router.h"

#include <vector>

#include "pyburn/runtime/device_identity.h"
#include "pyburn/runtime/run.h"
#include "pyburn/runtime/spoiled.h"
#include "pyburn/support/log.h"

namespace pyburn {
namespace {

// One operation's storages, as copies on the fallback with the same layouts: views that share memory on the primary share it there, so that
// an operation that updates its inputs, or a part of a tensor, finds them.
class Mirror {
 public:
  Mirror(Backend& primary, Device& fallback) : primary_(primary), fallback_(fallback) {}

  TensorHandle there(const TensorHandle& x) {
    for (const auto& [here, copy] : pairs_)
      if (here.storage() == x.storage()) return make_tensor(fallback_, x.dtype(), x.layout(), copy.impl()->storage);
    const TensorHandle here = whole(x);
    TensorHandle copy = make_tensor(fallback_, x.dtype(), here.layout(), fallback_.backend().allocate(x.dtype(), here.numel()));
    move(primary_, here, fallback_.backend(), copy);
    pairs_.emplace_back(here, copy);
    return make_tensor(fallback_, x.dtype(), x.layout(), copy.impl()->storage);
  }
  // The storage of a tensor that exists, with what the fallback wrote. It needs no kernel of the primary.
  void write_back(const TensorHandle& x) {
    for (const auto& [here, copy] : pairs_)
      if (here.storage() == x.storage()) return move(fallback_.backend(), copy, primary_, here);
  }
  // A fresh tensor on the primary.
  TensorHandle back(const TensorHandle& x, Device& device) {
    TensorHandle copy = make_tensor(device, x.dtype(), contiguous_layout(x.shape()), primary_.allocate(x.dtype(), x.numel()));
    move(fallback_.backend(), x, primary_, copy);
    return copy;
  }

 private:
  static TensorHandle whole(const TensorHandle& x) { return alias(x, contiguous_layout(Shape{x.storage()->bytes / size_of(x.dtype())})); }
  void move(Backend& from, const TensorHandle& x, Backend& to, const TensorHandle& y) {
    std::vector<std::byte> bytes(size_t(bytes_of(x.dtype(), x.numel())));
    const HostArray host{bytes.data(), x.meta()};
    read_elements(from, x, host);
    to.upload(host, y);
  }
  Backend& primary_;
  Device& fallback_;
  std::vector<std::pair<TensorHandle, TensorHandle>> pairs_;  // whole storages
};

}  // namespace

Router::Router(Ref<Backend> primary, Ref<Backend> fallback) : Decorator(std::move(primary)), fallback_(std::move(fallback)) {}

KernelSupport Router::support(const OpInfo& op, DType key) const {
  const KernelSupport here = primary_->known_support(op, key);
  if (here != KernelSupport::none || op.decompose) return here;
  return fallback_->known_support(op, key);
}

bool Router::supports_call(OpRef op, Inputs in, Outputs out) const {
  return primary_->supports(op, in, out) || (!op.info->decompose && fallback_->supports(op, in, out));
}

void Router::execute(OpRef op, Inputs in, Outputs out) {
  const OpInfo& info = *op.info;
  if (info.kind == Kind::view || primary_->supports(op, in, out)) return run(*primary_, op, in, out);
  const DType key = key_dtype(info, in, out);
  log_once(format("[{}] has no kernel for {} on {}: it runs on {}, which copies inputs and results", info.name(), key, primary_->name(),
      fallback_->name()));

  Device* device = nullptr;
  for (const TensorHandle* t : in)
    if (t->defined()) device = &t->device();
  Mirror mirror(*primary_, fallback_device_(fallback_));
  Tensors inputs, results;
  SmallVector<const TensorHandle*, 8> list;
  for (const TensorHandle* t : in) inputs.push_back(t->defined() ? mirror.there(*t) : TensorHandle());
  for (const TensorHandle& t : inputs) list.push_back(&t);
  for (const TensorHandle& t : out) {
    if (!t.defined()) results.push_back({});
    else
      results.push_back(t.storage() ? mirror.there(t) : make_tensor(fallback_device_(fallback_), t.dtype(), contiguous_layout(t.shape())));
  }
  run(*fallback_, op, {list.data(), size_t(list.size())}, {results.data(), size_t(results.size())});
  for (size_t i = 0; i < out.size(); ++i) {
    if (out[i].defined()) device = &out[i].device();
    if (out[i].defined() && out[i].storage()) mirror.write_back(out[i]);
    else out[i] = mirror.back(results[int64_t(i)], *device);
  }
}

void register_router_backend() {
  register_backend({.name = "router",
      .doc = "Runs operations on the first backend, or on the second if the first has no kernel: router(numpy, ndarray).",
      .decorator = true,
      .make = [](std::span<const Ref<Backend>> inner, std::string_view options) {
        require_no_options("router", options);
        require<DeviceError>(inner.size() == 2, "[device] router wraps two backends: write router(numpy, ndarray)");
        return Ref<Backend>(new Router(inner[0], inner[1]));
      }});
}

}  // namespace pyburn
