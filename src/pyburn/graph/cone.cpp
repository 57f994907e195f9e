#include "pyburn/graph/cone.h"

#include <algorithm>
#include <cmath>
#include <unordered_map>

#include "pyburn/runtime/run.h"
#include "pyburn/runtime/transfer.h"
#include "pyburn/support/error.h"
#include "pyburn/support/interrupt.h"

namespace pyburn {
namespace {

constexpr size_t kMostNodes = 32;

bool is_pure(const GraphEditor& editor, const GraphNode& n) {
  const auto free = [&](ValueId v) { return v < 0 || !editor.may_be_written(v); };
  return !n.writes && n.patches.empty() && !n.in.empty() && std::all_of(n.in.begin(), n.in.end(), free) &&
         std::all_of(n.out.begin(), n.out.end(), free);
}

// The nodes between `from` (-1: none) and `to`; nothing where others than constants are needed, too. With from -1, inputs that no node of
// the part makes are noted as candidates.
class Search {
 public:
  Search(const GraphEditor& editor, const std::function<bool(const GraphNode&)>& belongs) : editor_(editor), belongs_(belongs) {}

  std::vector<int32_t> part_before(ValueId to, ValueId from, std::vector<ValueId>* leaves) const {
    std::vector<int32_t> found;
    std::vector<ValueId> open{to};
    while (!open.empty()) {
      const ValueId v = open.back();
      open.pop_back();
      if (v < 0 || v == from || editor_.constant(v)) continue;
      const int32_t maker = editor_.maker(v);
      const bool inside = maker >= 0 && !editor_.is_erased(maker) && found.size() < kMostNodes && belongs_(editor_.node(maker)) &&
                          is_pure(editor_, editor_.node(maker));
      if (!inside) {
        leaves->push_back(v);
        continue;
      }
      if (std::find(found.begin(), found.end(), maker) != found.end()) continue;
      found.push_back(maker);
      for (ValueId in : editor_.node(maker).in) open.push_back(in);
    }
    std::sort(found.begin(), found.end());
    return found;
  }

 private:
  const GraphEditor& editor_;
  const std::function<bool(const GraphNode&)>& belongs_;
};

}  // namespace

void for_each_cone(const GraphEditor& editor, ValueId to, const std::function<bool(const GraphNode&)>& belongs,
    const std::function<bool(const Cone&)>& take) {
  const Search search(editor, belongs);
  std::vector<ValueId> leaves;
  const std::vector<int32_t> all = search.part_before(to, -1, &leaves);
  std::unordered_map<ValueId, int> uses;
  for (int32_t i : all)
    for (ValueId v : editor.node(i).in)
      if (v >= 0 && !editor.constant(v)) ++uses[v];
  std::vector<ValueId> several;
  for (const auto& [v, count] : uses)
    if (count > 1) several.push_back(v);
  std::sort(several.begin(), several.end());  // the largest cones first
  for (ValueId from : several) {
    leaves.clear();
    std::vector<int32_t> nodes = search.part_before(to, from, &leaves);
    if (leaves.empty() && take({from, to, std::move(nodes)})) return;
  }
}

TensorHandle evaluate(const GraphEditor& editor, const Cone& cone, const TensorHandle& from) {
  std::unordered_map<ValueId, TensorHandle> known{{cone.from, from}};
  const TensorHandle absent;
  try {
    for (int32_t i : cone.nodes) {
      const GraphNode& n = editor.node(i);
      InputList in;
      for (ValueId v : n.in) {
        const TensorHandle* constant = editor.constant(v);
        in.add(v < 0 ? absent : constant ? *constant : known.at(v));
      }
      Tensors out(n.out.size(), TensorHandle());
      dispatch(n.op.ref(), in, {out.data(), size_t(out.size())});
      for (int64_t k = 0; k < out.size(); ++k) known[n.out[k]] = out[k];
    }
  } catch (const Interrupted&) {
    throw;
  } catch (const Error&) {
    return {};
  }
  return known.at(cone.to);
}

bool agree(const TensorHandle& a, const TensorHandle& b, double tolerance) {
  if (!a.defined() || !b.defined() || !(a.meta() == b.meta()) || a.dtype() != DType::float32) return false;
  const auto n = size_t(a.numel());
  std::vector<float> x(n), y(n);
  to_host(a, {x.data(), a.meta()});
  to_host(b, {y.data(), b.meta()});
  for (size_t i = 0; i < n; ++i)
    if (!(std::abs(double(x[i]) - double(y[i])) <= tolerance * (1 + std::abs(double(y[i]))))) return false;
  return true;
}

}  // namespace pyburn
