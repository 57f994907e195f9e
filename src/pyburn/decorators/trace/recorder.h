// Recorder: builds a Graph from executed operations. A value is a region of memory: (storage, layout, dtype). Aliases and views therefore
// need no special treatment, and an in-place write is a node that writes to an existing value; replaying the nodes in program order repeats
// the execution exactly.
#pragma once
#include <functional>
#include <unordered_map>

#include "pyburn/ir/graph.h"

namespace pyburn {

class Recorder {
 public:
  // `snapshot` copies a constant before the first write to it; empty if writes do not reach memory.
  using Snapshot = std::function<TensorHandle(const TensorHandle&)>;
  // `is_inside`: records a graph inside another one, whose tensors have no values; they become constants all the same.
  explicit Recorder(Snapshot snapshot, bool is_inside = false)
      : graph_(make_ref<Graph>()), snapshot_(std::move(snapshot)), is_inside_(is_inside) {}

  void add_input(const TensorHandle& x, std::string name);
  void name_constant(const TensorHandle& x, std::string name);

  // What is known before an operation runs: its inputs, and the outputs it writes to (-1: new outputs).
  struct Pending {
    SmallVector<ValueId, 4> in, written;
  };
  Pending before(OpRef op, Inputs in, Outputs out);
  void after(OpRef op, const Pending& pending, Outputs out);

  Ref<Graph> finish(std::span<const TensorHandle> outputs, std::vector<std::string> names);
  // Did the recording write to it without changing its memory?
  bool is_stale(const TensorHandle& x) const;
  // The tensors as the operations received them, parallel to the graph's constants.
  const std::vector<TensorHandle>& constants() const { return given_; }
  int64_t nodes() const { return int64_t(graph_->nodes.size()); }
  bool holds(const Storage& s) const { return memory_.contains(&s); }  // with one reference
  // Forgets storages that operations made and that have no other reference any more.
  void forget_unused();

 private:
  struct Region {
    Layout layout;
    DType dtype;
    ValueId id;
  };
  enum class Origin : uint8_t { constant, input, made };
  struct Memory {
    Ref<Storage> storage;  // kept alive, so that its address is not reused
    Origin origin;
    bool written = false;
    std::vector<Region> regions;
    std::vector<size_t> constants;  // indices into the graph's inputs
    int roots = 0;                  // regions that were not created by a recorded operation
  };
  Memory& memory_of(const TensorHandle& x, Origin origin);
  static ValueId find(const Memory& m, const TensorHandle& x);
  ValueId add_region(Memory& m, const TensorHandle& x);
  ValueId value_of(const TensorHandle& x);
  void note_write(const TensorHandle& x);
  void note_unknown_extents(const GraphNode& node);

  Ref<Graph> graph_;
  std::vector<TensorHandle> given_;
  Snapshot snapshot_;
  bool is_inside_;
  std::unordered_map<const Storage*, Memory> memory_;
  struct Name {
    TensorHandle tensor;
    std::string text;
  };
  std::vector<Name> names_;
};

}  // namespace pyburn
