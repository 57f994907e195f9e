// The fuse pass: divides lowered nodes into steps, which are single operations and runs that become one `fused` operation each.
#pragma once
#include <list>
#include <unordered_map>
#include <vector>

#include "pyburn/graph/lowered.h"
#include "pyburn/ir/graph.h"

namespace pyburn {

// Everything that the division depends on. Sizes, strides and scalars are not included: layouts and shapes are numbered by first
// appearance, so that only their equality matters, and a plan serves every size.
struct FuseStructure {
  enum class Role : uint8_t { opaque, elementwise, reduction, product };
  struct Operand {
    int32_t slot, layout, shape;  // numbers
    int32_t extent;               // number of (offset, elements) of a contiguous layout: equal ones are views of each other; else -1
    DType dtype;
  };
  struct Node {
    const OpInfo* op;
    Role role;  // reduction: may end a run; product: may begin one, including convolutions
    SmallVector<Operand, 3> in;
    SmallVector<Operand, 1> out;
  };
  std::vector<Node> nodes;
  std::vector<bool> visible;     // per slot: may be read after the last node
  bool hazards_ignored = false;  // the injected fault

  std::vector<uint32_t> key() const;
};
// `fuses`: the backend has a kernel for `fused`; otherwise every node is a step.
FuseStructure describe(std::span<const LoweredNode> nodes, std::vector<bool> visible, bool fuses);

// A run of element-wise nodes, optionally preceded by a product and followed by a reduction, in single-assignment form.
struct FusedStep {
  struct Place {
    int32_t node, input;  // input -1: the output of the node
  };
  struct Node {
    int32_t node;
    SmallVector<ValueId, 3> in;
    ValueId out;
    bool view = false;  // not a lowered node: the result of the previous node, viewed in the shape of `out`
  };
  std::vector<Place> values;  // the lowered node that computes each value
  std::vector<ValueId> inputs, outputs;
  std::vector<Node> nodes;  // values that a later node depends on
};

struct Step {
  int32_t node = -1;  // a single operation; -1 without anything to fuse: the results are unused
  std::unique_ptr<const FusedStep> fused;
  SmallVector<int32_t, 4> releases;  // slots that no later step uses
};

struct Plan final : Counted {
  std::vector<Step> steps;
};

// Hazard rule: within a run, a storage that the run writes is accessed only through the identical layout; a node that would violate the
// rule starts a new run. Values that nothing reads afterwards are not outputs.
Ref<const Plan> fuse(const FuseStructure&);

const LoweredOperand& operand_at(std::span<const LoweredNode> nodes, FusedStep::Place place);
// The body of the `fused` operation that a step becomes.
Ref<Graph> body_of(const FusedStep& step, std::span<const LoweredNode> nodes);

// Plans by structure, with least-recently-used eviction.
class PlanCache {
 public:
  static constexpr size_t kCapacity = 256;
  Ref<const Plan> find(const std::vector<uint32_t>& key);  // null if unknown
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
