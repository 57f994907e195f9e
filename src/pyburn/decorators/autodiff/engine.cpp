#include "pyburn/decorators/autodiff/engine.h"

#include <algorithm>
#include <queue>
#include <unordered_map>
#include <unordered_set>

#include "pyburn/decorators/autodiff/history.h"
#include "pyburn/decorators/autodiff/modes.h"
#include "pyburn/ops/generated/binary.h"
#include "pyburn/ops/generated/copy.h"
#include "pyburn/ops/generated/reduce.h"
#include "pyburn/runtime/autocast.h"
#include "pyburn/runtime/run.h"
#include "pyburn/runtime/run_observer.h"
#include "pyburn/runtime/transfer.h"
#include "pyburn/support/error.h"

namespace pyburn::autograd {
namespace {

// Nodes from which one of the wanted edges can be reached.
std::unordered_set<const Node*> leading_to(std::span<const Edge> wanted, std::span<const Edge> roots) {
  std::vector<const Node*> reachable;
  std::unordered_set<const Node*> seen;
  auto visit = [&](const Ref<Node>& n) {
    if (n && seen.insert(n.get()).second) reachable.push_back(n.get());
  };
  for (const Edge& e : roots) visit(e.node);
  for (size_t i = 0; i < reachable.size(); ++i)
    for (const Edge& e : reachable[i]->edges) visit(e.node);
  std::sort(reachable.begin(), reachable.end(), [](const Node* a, const Node* b) { return a->sequence < b->sequence; });
  std::unordered_set<const Node*> leading;
  for (const Edge& e : wanted) leading.insert(e.node.get());
  for (const Node* n : reachable)
    for (const Edge& e : n->edges)
      if (e.node && leading.contains(e.node.get())) leading.insert(n);
  return leading;
}

std::atomic<uint64_t> passes{0};

class Pass;
thread_local Pass* running = nullptr;

class Pass {
 public:
  const uint64_t number = ++passes;
  std::vector<std::function<void()>> callbacks, endings;

  Pass(std::span<const Edge> roots, std::span<const Edge> wanted, const BackwardOptions& options) : options_(options), wanted_(wanted) {
    captured_.resize(int64_t(wanted.size()));
    if (!wanted.empty()) leading_ = leading_to(wanted, roots);
    running = this;
  }
  ~Pass() {
    for (const auto& ending : endings) ending();
    running = outer_;
  }
  Pass(const Pass&) = delete;

  void add(const Edge& e, TensorHandle gradient) {
    if (!gradient.defined() || !is_wanted(e)) return;
    Sum& sum = sum_for(e);
    if (!sum.value.defined()) {
      sum.value = std::move(gradient);
    } else if (sum.own && sum.value.shape() == gradient.shape() && sum.value.dtype() == gradient.dtype()) {
      fn::add_into(sum.value, sum.value, gradient);
    } else {
      sum.value = fn::add(sum.value, gradient);
      sum.own = !options_.create_graph;
    }
  }

  Grads run() {
    while (release_leaves(), !queue_.empty()) {
      const Ref<Node> node = queue_.top().node;
      queue_.pop();
      const auto it = pending_.find(node.get());
      Grads dy;
      for (Sum& sum : it->second.sums) dy.push_back(std::move(sum.value));
      pending_.erase(it);
      const bool ends = (node->is_leaf && !options_.accumulate) || (!wanted_.empty() && is_end(*node));
      if (!ends) capture(node, dy);  // as in PyTorch: hooks change a captured gradient only where the pass ends
      call_hooks(*node, dy);
      if (ends) {
        capture(node, dy);
        continue;
      }
      if (!node->node_hooks && add_part(*node, dy)) continue;
      Grads results = node->node_hooks ? apply_watched(*node, dy) : apply(*node, dy);
      dy.clear();
      for (int64_t i = 0; i < results.size() && i < node->edges.size(); ++i) add(node->edges[i], std::move(results[i]));
      if (!options_.retain_graph) node->release_saved();
    }
    for (size_t i = 0; i < callbacks.size(); ++i) std::exchange(callbacks[i], nullptr)();  // one may add another
    return captured_;
  }

 private:
  // Accumulated gradients. `own`: created by this pass and referenced by nothing else, so that it may be modified in place.
  struct Sum {
    TensorHandle value;
    bool own = false;
  };
  struct Pending {
    SmallVector<Sum, 2> sums;  // one per output of the node
    int64_t last_added = 0;
  };
  struct Entry {
    uint64_t sequence;
    Ref<Node> node;
    bool operator<(const Entry& o) const { return sequence < o.sequence; }
  };

  bool is_wanted(const Edge& e) const { return e.node && (wanted_.empty() || leading_.contains(e.node.get())); }
  Sum& sum_for(const Edge& e) {
    auto [it, fresh] = pending_.try_emplace(e.node.get());
    if (fresh && e.node->is_leaf) waiting_.push_back(e.node), newest_waiting_ = std::max(newest_waiting_, e.node->sequence);
    else if (fresh) queue_.push({e.node->sequence, e.node});
    it->second.last_added = ++additions_;
    auto& sums = it->second.sums;
    if (sums.size() <= e.output) sums.resize(e.output + 1);
    return sums[e.output];
  }

  // A leaf runs as soon as no node is left that could add to its gradient, before all others: hooks see gradients early, and an optimiser
  // that steps in them frees memory early. Leaves that are ready together run in the order of their edges.
  void release_leaves() {
    const uint64_t next = queue_.empty() ? 0 : queue_.top().sequence;
    if (newest_waiting_ <= next) return;
    const auto ready = std::stable_partition(waiting_.begin(), waiting_.end(), [&](const Ref<Node>& n) { return n->sequence <= next; });
    std::sort(ready, waiting_.end(), [&](const Ref<Node>& a, const Ref<Node>& b) {
      return pending_.find(a.get())->second.last_added < pending_.find(b.get())->second.last_added;
    });
    for (auto it = ready; it != waiting_.end(); ++it) queue_.push({~uint64_t(0), *it});
    waiting_.erase(ready, waiting_.end());
    newest_waiting_ = 0;
    for (const Ref<Node>& n : waiting_) newest_waiting_ = std::max(newest_waiting_, n->sequence);
  }

  // Parts of one tensor (those of a split, say) are gathered in one sum. Not where the way back is recorded or watched.
  bool add_part(const Node& node, const Grads& dy) {
    if (options_.create_graph || node.made_at || node.edges.size() != 1 || dy.size() != 1 || !is_wanted(node.edges[0])) return false;
    const auto it = pending_.find(node.edges[0].node.get());
    const bool meets = it != pending_.end() && node.edges[0].output < it->second.sums.size();
    Sum known = meets ? it->second.sums[node.edges[0].output] : Sum();
    if (known.value.defined() && !known.own) return false;
    if (!node.add_part(known.value, dy)) return false;
    sum_for(node.edges[0]) = {std::move(known.value), true};
    return true;
  }

  // A wanted node from which nothing else that is wanted can be reached.
  bool is_end(const Node& node) const {
    if (node.is_leaf && options_.accumulate) return false;
    for (const Edge& e : node.edges)
      if (e.node && leading_.contains(e.node.get())) return false;
    return true;
  }

  static void call_list(const std::vector<OutputHook> hooks, Grads& dy) {  // a copy: hooks may add and remove hooks
    for (const OutputHook& hook : hooks) {
      if (hook.output == OutputHook::kAfter || hook.output >= dy.size() || !dy[hook.output].defined()) continue;
      TensorHandle changed = hook.hook->call(dy[hook.output]);
      if (!changed.defined()) continue;
      check_hook_result(hook.hook->name(), dy[hook.output], changed);
      dy[hook.output] = std::move(changed);
    }
  }
  static void call_hooks(Node& node, Grads& dy) {
    if (node.hooks) call_list(*node.hooks, dy);
    if (node.is_leaf)
      if (const History* h = history_of(static_cast<AccumulateGrad&>(node).leaf()); h && h->hooks) call_list(*h->hooks, dy);
    if (!node.retained) return;
    for (const RetainedGrad& r : *node.retained) {
      if (r.output >= dy.size() || !dy[r.output].defined()) continue;
      TensorHandle& kept = r.box->grad;
      kept = kept.defined() ? TensorHandle(fn::add(kept, dy[r.output])) : TensorHandle(fn::detach(dy[r.output]));
    }
  }

  void capture(const Ref<Node>& node, const Grads& dy) {
    for (size_t i = 0; i < wanted_.size(); ++i)
      if (wanted_[i].node == node && wanted_[i].output < dy.size()) captured_[int64_t(i)] = dy[wanted_[i].output];
  }

  Grads apply_watched(Node& node, Grads& dy) {
    const std::vector<NumberedNodeHook> hooks = *node.node_hooks;  // a copy: a hook may remove itself
    for (const NumberedNodeHook& h : hooks) h.hook->before(dy);
    const Grads seen = dy;
    const bool any = std::any_of(dy.begin(), dy.end(), [](const TensorHandle& g) { return g.defined(); });
    Grads results = any ? apply(node, dy) : Grads(node.edges.size(), {});  // a hook may end all gradients
    for (const NumberedNodeHook& h : hooks) h.hook->after(results, seen);
    return results;
  }

  Grads apply(Node& node, Grads& dy) {
    const std::string* made_at = node.made_at.get();
    Grads results;
    try {
      results = node.apply(dy);
    } catch (Error& e) {
      if (!made_at) throw;
      fail<GradientError>("{}\nError in {}; the operation was called here:\n{}", e.what(), node.name(), *made_at);
    }
    if (made_at)
      for (int64_t i = 0; i < results.size(); ++i)
        if (results[i].defined() && has_nan(results[i]))
          fail<GradientError>(
              "function '{}' returned nan values in its output {}; the operation was called here:\n{}", node.name(), i, *made_at);
    return results;
  }

  static bool has_nan(const TensorHandle& t) {
    const GradMode off(false);
    const TensorHandle count = fn::sum(fn::cast(fn::ne(t, t), DType::int64));
    int64_t n = 0;
    to_host(count, {&n, count.meta()});
    return n > 0;
  }

  Pass* const outer_ = running;  // a backward pass inside a node of another
  const BackwardOptions& options_;
  std::span<const Edge> wanted_;
  std::unordered_set<const Node*> leading_;
  std::unordered_map<const Node*, Pending> pending_;
  std::priority_queue<Entry> queue_;
  std::vector<Ref<Node>> waiting_;  // leaves that nodes in the queue may still add to
  uint64_t newest_waiting_ = 0;
  int64_t additions_ = 0;
  Grads captured_;
};

}  // namespace

void after_this_pass(std::function<void()> then) {
  require<GradientError>(running, "a callback can only be queued while a backward pass runs on this thread");
  running->callbacks.push_back(std::move(then));
}

void at_end_of_this_pass(std::function<void()> then) {
  require<GradientError>(running, "a callback can only be queued while a backward pass runs on this thread");
  running->endings.push_back(std::move(then));
}

uint64_t current_pass() { return running ? running->number : 0; }

Grads run_backward(std::span<const Edge> roots, const Grads& gradients, std::span<const Edge> wanted, const BackwardOptions& options) {
  const GradMode mode(options.create_graph);
  const AutocastScope as_recorded({.enabled = false});  // the dtypes were settled on the way forward
  if (RunObserver* observer = run_observer()) observer->backward_ran();
  Pass pass(roots, wanted, options);
  for (size_t i = 0; i < roots.size(); ++i) pass.add(roots[i], gradients[int64_t(i)]);
  return pass.run();
}

}  // namespace pyburn::autograd
