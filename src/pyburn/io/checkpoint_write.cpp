#include <map>

#include "pyburn/io/checkpoint.h"
#include "pyburn/io/pickle_write.h"
#include "pyburn/io/zip_write.h"
#include "pyburn/runtime/transfer.h"
#include "pyburn/support/error.h"

namespace pyburn::io {
namespace {

constexpr uint64_t kAlignment = 64;  // of storages, as in PyTorch: allows using them in place

// The memory behind the tensors of a tree, each piece once.
class Storages {
 public:
  StorageId id_of(const TensorHandle& t) {
    // If the memory is not readable here, a tensor is written contiguously, alone.
    const bool whole = host_memory(t) != nullptr;
    const auto [it, fresh] = known_.try_emplace({t.storage(), whole ? Layout() : t.layout()}, known_.size());
    if (fresh) list_.push_back({t, whole});
    const DType dtype = list_[it->second].first.dtype();
    require<DTypeError>(
        dtype == t.dtype(), "[save] tensors of different dtypes that share memory cannot be saved: got {} and {}", dtype, t.dtype());
    return {std::to_string(it->second), whole ? t.storage()->bytes / size_of(t.dtype()) : t.numel(),
        whole ? t.layout() : contiguous_layout(t.shape())};
  }
  void write(ZipWriter& zip, const std::string& folder) const {
    for (size_t i = 0; i < list_.size(); ++i) {
      const auto add = [&](std::span<const std::byte> bytes) { zip.add(folder + std::to_string(i), bytes, kAlignment); };
      const auto& [t, whole] = list_[i];
      if (whole)
        add({static_cast<const std::byte*>(t.storage()->host), size_t(t.storage()->bytes / size_of(t.dtype()) * size_of(t.dtype()))});
      else with_host_bytes(t, add);
    }
  }

 private:
  struct Before {
    bool operator()(const std::pair<Storage*, Layout>& a, const std::pair<Storage*, Layout>& b) const {
      if (a.first != b.first) return a.first < b.first;
      return to_text(a.second) < to_text(b.second);
    }
  };
  std::map<std::pair<Storage*, Layout>, size_t, Before> known_;
  std::vector<std::pair<TensorHandle, bool>> list_;
};

void write_first_entries(ZipWriter& zip, std::span<const std::byte> pickle) {
  zip.add("archive/data.pkl", pickle, kAlignment);
  zip.add("archive/.format_version", "1");
  zip.add("archive/.storage_alignment", std::to_string(kAlignment));
  zip.add("archive/byteorder", "little");
}

void write_last_entries(ZipWriter& zip) {
  zip.add("archive/version", "3\n");
  zip.finish();
}

}  // namespace

void write_checkpoint(const Value& root, ByteSink& sink) {
  Storages storages;
  PickleWriter pickle([&](const Value& v) { return storages.id_of(v.tensor); });
  const std::vector<std::byte> bytes = pickle.write(root);
  ZipWriter zip(sink);
  write_first_entries(zip, bytes);
  storages.write(zip, "archive/data/");
  write_last_entries(zip);
}

void write_checkpoint(const Snapshots& tensors, ByteSink& sink) {
  Tree tree;
  tree.root = tree.make(Value::Kind::ordered_dict);
  std::map<const Value*, size_t> position;
  for (size_t i = 0; i < tensors.size(); ++i) {
    Value* v = tree.make(Value::Kind::tensor);
    v->dtype = tensors[i].meta.dtype;
    position[v] = i;
    tree.root->items.insert(tree.root->items.end(), {tree.text(tensors[i].name), v});
  }
  PickleWriter pickle([&](const Value& v) {
    const size_t i = position.at(&v);
    const Shape& shape = tensors[i].meta.shape;
    return StorageId{std::to_string(i), shape.numel(), contiguous_layout(shape)};
  });
  const std::vector<std::byte> bytes = pickle.write(*tree.root);
  ZipWriter zip(sink);
  write_first_entries(zip, bytes);
  for (size_t i = 0; i < tensors.size(); ++i)
    with_host_bytes(tensors[i].load(device("ndarray")),
        [&](std::span<const std::byte> data) { zip.add("archive/data/" + std::to_string(i), data, kAlignment); });
  write_last_entries(zip);
}

}  // namespace pyburn::io
