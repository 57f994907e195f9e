#include "pyburn/graph/memory_plan.h"

#include <algorithm>
#include <numeric>

#include "pyburn/support/checked.h"

namespace pyburn {
namespace {

int64_t aligned(int64_t bytes) { return (Checked(bytes) + (MemoryPlan::kAlignment - 1)) / MemoryPlan::kAlignment * MemoryPlan::kAlignment; }

int64_t least_memory(std::span<const BufferLife> buffers) {
  std::vector<std::pair<int32_t, int64_t>> changes;  // step, bytes more or less
  for (const BufferLife& b : buffers) {
    changes.emplace_back(b.first, aligned(b.bytes));
    changes.emplace_back(b.last + 1, -aligned(b.bytes));
  }
  std::sort(changes.begin(), changes.end());  // at one step, what ends comes before what begins
  Checked alive = 0;
  int64_t least = 0;
  for (const auto& [step, bytes] : changes) least = std::max<int64_t>(least, alive += bytes);
  return least;
}

}  // namespace

MemoryPlan plan_memory(std::span<const BufferLife> buffers) {
  MemoryPlan plan{.offsets = std::vector<int64_t>(buffers.size(), 0)};
  std::vector<size_t> order(buffers.size()), placed;
  std::iota(order.begin(), order.end(), size_t(0));
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return buffers[a].bytes > buffers[b].bytes; });
  for (size_t b : order) {
    const int64_t bytes = aligned(buffers[b].bytes);
    int64_t at = 0;
    for (size_t other : placed) {  // in the order of their places
      if (buffers[other].last < buffers[b].first || buffers[b].last < buffers[other].first) continue;
      if (plan.offsets[other] - at >= bytes) break;
      at = std::max<int64_t>(at, Checked(plan.offsets[other]) + aligned(buffers[other].bytes));
    }
    plan.offsets[b] = at;
    plan.bytes = std::max<int64_t>(plan.bytes, Checked(at) + bytes);
    placed.insert(
        std::upper_bound(placed.begin(), placed.end(), b, [&](size_t x, size_t y) { return plan.offsets[x] < plan.offsets[y]; }), b);
  }
  plan.least = least_memory(buffers);
  return plan;
}

}  // namespace pyburn
