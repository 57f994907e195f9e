#include "pyburn/io/snapshot.h"

#include "pyburn/runtime/transfer.h"
#include "pyburn/support/error.h"

namespace pyburn::io {

Snapshot snapshot_of(std::string name, const TensorHandle& tensor) {
  require<ValueError>(tensor.defined(), "[io] no such tensor: '{}'", name);
  return {std::move(name), tensor.meta(), [tensor](Device& device) { return moved_to(device, tensor); }};
}

Snapshots snapshots_of(const TensorList& tensors) {
  Snapshots list;
  for (const auto& [name, t] : tensors) list.push_back(snapshot_of(name, t));
  return list;
}

TensorList load_all(const Snapshots& snapshots, Device& device) {
  TensorList list;
  for (const Snapshot& s : snapshots) list.emplace_back(s.name, s.load(device));
  return list;
}

void with_host_bytes(const TensorHandle& t, const std::function<void(std::span<const std::byte>)>& use) {
  const auto bytes = size_t(bytes_of(t.dtype(), t.numel()));
  if (const void* memory = host_memory(t); memory && t.layout().is_contiguous())
    return use({static_cast<const std::byte*>(memory) + t.layout().offset * size_of(t.dtype()), bytes});
  use(host_bytes(t));
}

}  // namespace pyburn::io
