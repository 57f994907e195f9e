// The fuse pass: cuts lowered nodes into steps, which are single operations and runs that become one `fused` operation each.
#pragma once
#include <list>
#include <unordered_map>
#include <vector>

#include "pyburn/graph/lowered.h"
#include "pyburn/ir/graph.h"

namespace pyburn {

// All that a cut depends on. Extents, strides and scalars are not in it: layouts and shapes are numbered in order of
// appearance, so that only their equality counts, and a plan serves every size.
struct FuseStructure {
  enum class Role : uint8_t { opaque, elementwise, reduction, product };
  struct Operand {
    int32_t slot, layout, shape;  // numbers
    int32_t extent;               // number of (offset, elements) of a contiguous layout: equal ones are views of each other; else -1
    DType dtype;
  };
  struct Node {
    const OpInfo* op;
    Role role;  // reduction: one that may end a run; product: one that may begin it, a convolution among them
    SmallVector<Operand, 3> in;
    SmallVector<Operand, 1> out;
  };
  std::vector<Node> nodes;
  std::vector<bool> visible;     // per slot: somebody may look at it after the last node
  bool hazards_ignored = false;  // the planted fault

  std::vector<uint32_t> key() const;
};
// `fuses`: the backend has a kernel for `fused`; if not, every node stands alone.
FuseStructure describe(std::span<const LoweredNode> nodes, std::vector<bool> visible, bool fuses);

// A run of elementwise nodes, before which may stand a product and of which the last may be a reduction, in single-assignment form.
struct FusedStep {
  struct Place {
    int32_t node, input;  // input -1: the output of the node
  };
  struct Node {
    int32_t node;
    SmallVector<ValueId, 3> in;
    ValueId out;
    bool view = false;  // none of the lowered nodes: what the node before it made, in the shape of `out`
  };
  std::vector<Place> values;  // where each value stands among the lowered nodes
  std::vector<ValueId> inputs, outputs;
  std::vector<Node> nodes;  // those that something depends on
};

struct Step {
  int32_t node = -1;  // a single operation; -1 and nothing to fuse: the nodes were for nobody
  std::unique_ptr<const FusedStep> fused;
  SmallVector<int32_t, 4> releases;  // slots that no later step uses
};

struct Plan final : Counted {
  std::vector<Step> steps;
};

// Hazard rule: a storage that a run writes is accessed everywhere in the run through the identical layout; a node that
// would break the rule starts a new run. Values that nobody can see afterwards are not outputs.
Ref<const Plan> fuse(const FuseStructure&);

const LoweredOperand& operand_at(std::span<const LoweredNode> nodes, FusedStep::Place place);
// The body of the `fused` operation that a step becomes.
Ref<Graph> body_of(const FusedStep& step, std::span<const LoweredNode> nodes);

// Plans by structure, the least recently used one dropped first.
class PlanCache {
 public:
  static constexpr size_t kCapacity = 256;
  Ref<const Plan> find(const std::vector<uint32_t>& key);  // null when unknown
  void add(std::vector<uint32_t> key, Ref<const Plan> plan);

 private:
  struct Entry {
    std::vector<uint32_t> key;
    Ref<const Plan> plan;
  };
  std::list<Entry> recent_;  // most recent first
  std::unordered_multimap<uint64_t, std::list<Entry>::iterator> by_hash_;
};

}  // namespace pyburn
