#include "pyburn/graph/extents.h"

#include <cstring>

#include "pyburn/graph/fit_extents.h"
#include "pyburn/ir/integer_slots.h"
#include "pyburn/runtime/transfer.h"
#include "pyburn/support/checked.h"
#include "pyburn/support/error.h"
#include "pyburn/support/interrupt.h"

namespace pyburn {
namespace {

struct Sample {
  std::vector<int64_t> sizes;
  Ref<Graph> graph;
};

std::string text_of(std::span<const FreeExtent> extents, const std::vector<int64_t>& sizes) {
  std::string text;
  for (size_t k = 0; k < sizes.size(); ++k) text += (k ? ", " : "") + format("{} = {}", extents[k].name, sizes[k]);
  return text;
}

// Base sizes, each extent changed alone, and all changed. 0 and 1 are no good: they change what broadcasts.
std::vector<std::vector<int64_t>> sample_sizes(std::span<const FreeExtent> extents) {
  std::vector<int64_t> base, other, joint;
  int64_t fresh = 3;
  for (const FreeExtent& e : extents) {
    if (e.is_small) {
      base.push_back(e.example), other.push_back(e.example + 1), joint.push_back(e.example + 2);
    } else if (e.example > 1) {
      base.push_back(e.example), other.push_back(Checked(e.example) * 2), joint.push_back(Checked(e.example) * 3);
    } else {
      base.push_back(fresh), other.push_back(fresh + 2), joint.push_back(fresh + 5);
      fresh += 8;
    }
  }
  std::vector<std::vector<int64_t>> sizes{base};
  for (size_t k = 0; k < extents.size(); ++k) {
    sizes.push_back(base);
    sizes.back()[k] = other[k];
  }
  sizes.push_back(joint);
  return sizes;
}

bool same_structure(const GraphNode& a, const GraphNode& b) {
  return a.in == b.in && a.out == b.out && a.writes == b.writes && same_but_for_integers(a.op, b.op);
}

// Multiples of the examples tell n / 2 from (n + 1) / 2 only where a size is odd. A function that does not take the next size, or does
// something else with it, is not asked.
void add_uneven_sample(
    std::vector<Sample>& samples, std::span<const FreeExtent> extents, const std::function<Ref<Graph>(std::span<const int64_t>)>& capture) {
  std::vector<int64_t> sizes = samples[0].sizes;
  for (size_t k = 0; k < sizes.size(); ++k) sizes[k] += extents[k].example > 1;
  if (sizes == samples[0].sizes) return;
  try {
    const Ref<Graph> g = capture(sizes), first = samples[0].graph;
    bool same = g->nodes.size() == first->nodes.size() && g->constants.size() == first->constants.size() && g->outputs == first->outputs &&
                g->unknown_axes == first->unknown_axes;
    for (size_t i = 0; same && i < g->nodes.size(); ++i) same = same_structure(first->nodes[i], g->nodes[i]);
    if (same) samples.push_back({std::move(sizes), g});
  } catch (const Interrupted&) {
    throw;
  } catch (const std::exception&) {
  }
}

void check_structure(const std::vector<Sample>& samples, std::span<const FreeExtent> extents) {
  const Graph& g = *samples[0].graph;
  for (const Sample& s : samples) {
    const Graph& other = *s.graph;
    require<CaptureError>(other.nodes.size() == g.nodes.size() && other.outputs == g.outputs && other.inputs == g.inputs &&
                              other.unknown_axes == g.unknown_axes,
        "[capture] the number of operations depends on a free extent: got {} at {} and {} at {}", int64_t(g.nodes.size()),
        text_of(extents, samples[0].sizes), int64_t(other.nodes.size()), text_of(extents, s.sizes));
    for (size_t i = 0; i < g.nodes.size(); ++i)
      if (!same_structure(g.nodes[i], other.nodes[i]))
        fail<CaptureError>("[{}] the operation depends on a dynamic size: got {} at {} and {} at {}", g.nodes[i].op.info().name(),
            to_text(g.nodes[i].op.ref()), text_of(extents, samples[0].sizes), to_text(other.nodes[i].op.ref()), text_of(extents, s.sizes));
    require<CaptureError>(other.constants.size() == g.constants.size(), "[capture] the number of constants depends on a dynamic size");
    for (size_t i = 0; i < g.constants.size(); ++i) {
      const TensorHandle &a = g.constants[i].second, &b = other.constants[i].second;
      if (a.storage() == b.storage() && a.layout() == b.layout() && a.dtype() == b.dtype()) continue;
      require<CaptureError>(a.meta() == b.meta() && host_bytes(a) == host_bytes(b),
          "[capture] a constant depends on a dynamic size: got {} at {} and {} at {}", a.shape(), text_of(extents, samples[0].sizes),
          b.shape(), text_of(extents, s.sizes));
    }
  }
}

// What is known at a node, at each sample: the extents, and the dimensions of its inputs.
std::vector<KnownNumber> known_at(const GraphNode& node, const std::vector<Sample>& samples, size_t extents) {
  std::vector<KnownNumber> known;
  for (size_t k = 0; k < extents; ++k) {
    KnownNumber number{ExtentExpression::extent(int64_t(k)), {}};
    for (const Sample& s : samples) number.values.push_back(s.sizes[k]);
    known.push_back(std::move(number));
  }
  for (int64_t i = 0; i < node.in.size(); ++i) {
    if (node.in[i] < 0) continue;
    const int rank = samples[0].graph->values[size_t(node.in[i])].shape.rank();
    for (int axis = 0; axis < rank; ++axis) {
      KnownNumber number{ExtentExpression::dimension(i, axis), {}};
      for (const Sample& s : samples) number.values.push_back(s.graph->values[size_t(node.in[i])].shape[axis]);
      known.push_back(std::move(number));
    }
  }
  return known;
}

void solve(size_t i, const std::vector<Sample>& samples, std::span<const FreeExtent> extents) {
  GraphNode& node = samples[0].graph->nodes[i];
  std::vector<Slots> slots;
  for (const Sample& s : samples) slots.push_back(integer_slots(s.graph->nodes[i].op.ref()));
  std::vector<KnownNumber> known;
  for (int64_t j = 0; j < slots[0].size(); ++j) {
    std::vector<int64_t> values;
    for (const Slots& s : slots) values.push_back(s[j]);
    if (std::equal(values.begin() + 1, values.end(), values.begin())) continue;
    if (known.empty()) known = known_at(node, samples, extents.size());
    std::optional<ExtentExpression> expression = fit_extents(values, known);
    if (!expression)
      fail<CaptureError>("[{}] a number does not follow from the dynamic sizes: got {} at {}, {} at {}, {} at {} in {}",
          node.op.info().name(), values[0], text_of(extents, samples[0].sizes), values[1], text_of(extents, samples[1].sizes),
          values.back(), text_of(extents, samples.back().sizes), to_text(node.op.ref()));
    node.patches.push_back({int32_t(j), std::move(*expression)});
  }
}

}  // namespace

Ref<Graph> with_free_extents(
    const std::function<Ref<Graph>(std::span<const int64_t>)>& capture, std::span<const FreeExtent> free, std::vector<FreeAxis> axes) {
  std::vector<FreeExtent> extents(free.begin(), free.end());
  // The first graph says how many extents follow from values; they are given sizes like the free ones.
  Ref<Graph> first = capture(sample_sizes(extents)[0]);
  const size_t unknown = first->extents.size();
  for (size_t k = 0; k < unknown; ++k) {
    const UnknownAxis& u = first->unknown_axes[k];
    const int64_t size = first->values[size_t(u.value)].shape[u.axis];
    extents.push_back({first->extents[k], size, size < kDivisible});
  }
  std::vector<Sample> samples;
  if (!extents.empty()) {
    for (std::vector<int64_t>& sizes : sample_sizes(extents)) {
      Ref<Graph> graph = samples.empty() ? std::move(first) : capture(sizes);
      samples.push_back({std::move(sizes), std::move(graph)});
    }
    add_uneven_sample(samples, extents, capture);
    check_structure(samples, extents);
    for (size_t i = 0; i < samples[0].graph->nodes.size(); ++i) solve(i, samples, extents);
    first = samples[0].graph;
  }
  first->extents.clear();
  for (const FreeExtent& e : extents) first->extents.push_back(e.name);
  for (UnknownAxis& u : first->unknown_axes) u.extent += int32_t(free.size());
  first->free_axes = std::move(axes);
  return first;
}

}  // namespace pyburn
