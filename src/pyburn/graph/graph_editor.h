// GraphEditor: the interface for passes that change a graph. Nodes keep their numbers until finish() rebuilds the graph.
#pragma once
#include <span>

#include "pyburn/ir/graph.h"

namespace pyburn {

class GraphEditor {
 public:
  explicit GraphEditor(const Graph&);

  int32_t nodes() const { return int32_t(nodes_.size()); }
  bool is_erased(int32_t i) const { return nodes_[size_t(i)].erased; }
  const GraphNode& node(int32_t i) const { return nodes_[size_t(i)].node; }
  const Meta& meta(ValueId v) const { return graph_->values[size_t(v)]; }

  int32_t maker(ValueId v) const { return makers_[size_t(v)]; }                     // -1: an input, a constant, or none
  const TensorHandle* constant(ValueId v) const;                                    // null if v is not a constant
  const std::vector<int32_t>& users(ValueId v) const { return users_[size_t(v)]; }  // nodes; one that reads v twice is listed twice
  // Is v used other than by nodes: as an output or in an update?
  bool is_kept(ValueId v) const { return kept_[size_t(v)]; }
  // Values whose memory may be written to: passes must not move or drop operations on them.
  bool may_be_written(ValueId v) const { return written_[size_t(v)]; }

  // Is an extent known only when this node has run?
  bool gives_extent(const GraphNode& n) const;

  // Sole user of a value that nothing else needs; -1 where there is none.
  int32_t only_user(ValueId v) const;

  ValueId add_constant(TensorHandle);
  // Inserts a node before node i and returns its result.
  ValueId insert_before(int32_t i, Operation op, SmallVector<ValueId, 4> in, Meta result);
  ValueId insert_before(int32_t i, Operation op, SmallVector<ValueId, 4> in, std::span<const Meta> results);  // the first of them
  void set_inputs(int32_t i, SmallVector<ValueId, 4> in);
  void set_operation(int32_t i, Operation op);
  // Replaces all uses of `from` by `to`, which must be computed earlier.
  void replace(ValueId from, ValueId to);
  void erase(int32_t i);  // removes a node without users
  bool is_changed() const { return changed_; }

  Ref<Graph> finish();  // in order; checked

 private:
  struct Entry {
    GraphNode node;
    std::vector<GraphNode> before;
    bool erased = false;
  };
  void remove_user(ValueId v, int32_t node);

  Ref<Graph> graph_;
  std::vector<Entry> nodes_;
  std::vector<int32_t> makers_, constants_;
  std::vector<std::vector<int32_t>> users_;
  std::vector<bool> kept_, written_;
  bool changed_ = false;
};

}  // namespace pyburn
