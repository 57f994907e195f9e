// PyTorch's files (.pt, .pth): the current zip format and the legacy one. Reading executes no code; written files can be loaded with
// torch.load(weights_only=True).
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
  static bool looks_like_one(const SharedBytes& file);  // a zip file may also be another format

  // map_location: called with all elements of a storage as a 1-d tensor, and the device it was saved from.
  using Place = std::function<TensorHandle(const TensorHandle& storage, const std::string& location)>;
  // Reads all tensors. Tensors that shared memory share it again.
  void load(const Place& place);

  const Value& root() const { return *tree_.root; }
  Tree& tree() { return tree_; }
  // Lists the tensors without reading them; each is read on its own. `key` is the path of a nested dict: "model.state_dict".
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

// Values for pickles. ValueError for types that torch.load(weights_only=True) refuses.
void write_checkpoint(const Value& root, ByteSink& sink);
void write_checkpoint(const Snapshots& tensors, ByteSink& sink);  // as a state dict, one tensor after another

}  // namespace pyburn::io
