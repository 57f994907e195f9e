// PyTorch's files (.pt, .pth): the zip format of today and the one before it. Reading runs no code; writing gives files that
// torch.load(weights_only=True) opens.
#pragma once
#include <memory>

#include "pyburn/io/pickle_names.h"
#include "pyburn/io/snapshot.h"

namespace pyburn::io {

class ByteSink;

class Checkpoint {
 public:
  explicit Checkpoint(SharedBytes file, const OpenOptions& options = {});
  Checkpoint(Checkpoint&&) = default;
  static bool looks_like_one(const SharedBytes& file);  // a zip file may still be another one

  // Where storages go: given all elements of a storage as a tensor of one axis, and the place that they were saved from.
  using Place = std::function<TensorHandle(const TensorHandle& storage, const std::string& location)>;
  // Reads all tensors. Those that shared memory share it again.
  void load(const Place& place);

  const Value& root() const { return *tree_.root; }
  Tree& tree() { return tree_; }
  // The tensors, without reading them; each is read on its own. `key` leads to a dict inside: "model.state_dict".
  static Snapshots snapshots(SharedBytes file, const OpenOptions& options);

 private:
  void read_zip();
  void read_before_zip();
  Value* read_pickle(std::span<const std::byte> bytes, size_t& used);

  SharedBytes file_;
  OpenOptions options_;
  Tree tree_;
  StoredTensors stored_;
};

// Values for pickles: TypeError-like ValueError for kinds that torch.load(weights_only=True) refuses.
void write_checkpoint(const Value& root, ByteSink& sink);
void write_checkpoint(const Snapshots& tensors, ByteSink& sink);  // as a state dict, one tensor after another

}  // namespace pyburn::io
