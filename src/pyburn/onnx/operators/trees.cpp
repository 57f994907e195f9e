#include "pyburn/onnx/operators/trees.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

#include "pyburn/onnx/operators/host_tensors.h"
#include "pyburn/ops/generated/activation.h"
#include "pyburn/ops/generated/binary.h"
#include "pyburn/ops/generated/copy.h"
#include "pyburn/ops/generated/extremum.h"
#include "pyburn/ops/generated/fill.h"
#include "pyburn/ops/generated/index.h"
#include "pyburn/ops/generated/index_tensors.h"
#include "pyburn/ops/generated/join.h"
#include "pyburn/ops/generated/logic.h"
#include "pyburn/ops/generated/movement.h"
#include "pyburn/ops/generated/reduce.h"
#include "pyburn/ops/generated/scatter.h"
#include "pyburn/ops/generated/softmax.h"
#include "pyburn/ops/generated/transcendental.h"
#include "pyburn/ops/operators.h"
#include "pyburn/support/checked.h"
#include "pyburn/support/error.h"

namespace pyburn::onnx {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// The most steps from a root to a leaf. FormatError for a walk that does not end.
int64_t depth_of(const Trees& t) {
  const auto count = int64_t(t.feature.size());
  std::vector<int64_t> depth(size_t(count), -1);  // -2: on the way
  for (const int64_t root : t.roots) {
    std::vector<int64_t> open{root};
    while (!open.empty()) {
      const auto i = size_t(open.back());
      if (depth[i] >= 0) {
        open.pop_back();
        continue;
      }
      if (t.yes[i] == int64_t(i) && t.no[i] == int64_t(i)) {
        depth[i] = 0;
        continue;
      }
      if (depth[i] == -2) {
        const int64_t below = std::max(depth[size_t(t.yes[i])], depth[size_t(t.no[i])]);
        require<FormatError>(depth[size_t(t.yes[i])] >= 0 && depth[size_t(t.no[i])] >= 0, "[tree_ensemble] the nodes form a circle");
        depth[i] = below + 1;
        open.pop_back();
        continue;
      }
      depth[i] = -2;
      for (const int64_t child : {t.yes[i], t.no[i]}) {
        require<FormatError>(depth[size_t(child)] != -2, "[tree_ensemble] the nodes form a circle");
        if (depth[size_t(child)] < 0) open.push_back(child);
      }
    }
  }
  int64_t most = 0;
  for (const int64_t root : t.roots) most = std::max(most, depth[size_t(root)]);
  return most;
}

TensorHandle compared(Branch mode, const TensorHandle& x, const TensorHandle& split) {
  switch (mode) {
    case Branch::leq:
      return fn::le(x, split);
    case Branch::lt:
      return fn::lt(x, split);
    case Branch::gte:
      return fn::ge(x, split);
    case Branch::gt:
      return fn::gt(x, split);
    case Branch::eq:
      return fn::eq(x, split);
    case Branch::neq:
      return fn::ne(x, split);
  }
  return {};
}

}  // namespace

int64_t Trees::add(int64_t feature_, Branch mode_, double split_, bool missing_is_yes_) {
  const auto node = int64_t(feature.size());
  feature.push_back(feature_), mode.push_back(mode_), split.push_back(split_), missing_is_yes.push_back(missing_is_yes_);
  yes.push_back(node), no.push_back(node);
  return node;
}

TensorHandle walk(const Trees& t, const TensorHandle& x_, Fold fold) {
  require(x_.rank() == 2, "[tree_ensemble] expected (N, F): got {}", x_.shape());
  const DType dtype = x_.dtype() == DType::float64 ? DType::float64 : DType::float32;
  const TensorHandle x = x_.dtype() == dtype ? x_ : fn::cast(x_, dtype);
  const auto count = int64_t(t.feature.size()), trees = int64_t(t.roots.size());
  for (const int64_t f : t.feature)
    require<FormatError>(f >= 0 && f < std::max<int64_t>(1, x.shape()[1]), "[tree_ensemble] no such feature: got {} of {}", f, x.shape());
  for (const std::vector<int64_t>* list : {&t.yes, &t.no, &t.roots})
    for (const int64_t i : *list) require<FormatError>(i >= 0 && i < count, "[tree_ensemble] no such node: got {} of {}", i, count);
  require<FormatError>(t.targets > 0 && trees > 0 && Checked(count) * t.targets < int64_t(1) << 31,
      "[tree_ensemble] expected trees with targets: got {} nodes, {} targets", count, t.targets);
  Device& device = x.device();
  const auto reals = [&](const std::vector<double>& values) {
    return fn::cast(from_host(device, {const_cast<double*>(values.data()), {Shape{int64_t(values.size())}, DType::float64}}), dtype);
  };
  const TensorHandle feature = integers_on(device, t.feature), yes = integers_on(device, t.yes), no = integers_on(device, t.no),
                     split = reals(t.split);
  std::vector<int64_t> modes, missing(t.missing_is_yes.begin(), t.missing_is_yes.end());
  for (const Branch b : t.mode) modes.push_back(int64_t(b));
  std::vector<int64_t> kinds;  // of the inner nodes
  for (size_t i = 0; i < t.mode.size(); ++i)
    if (t.yes[i] != int64_t(i) && std::find(kinds.begin(), kinds.end(), modes[i]) == kinds.end()) kinds.push_back(modes[i]);
  const bool tracks = std::find(missing.begin(), missing.end(), 1) != missing.end();
  const TensorHandle mode = integers_on(device, modes), missing_is_yes = fn::ne(integers_on(device, missing), 0);
  TensorHandle node = fn::expand(integers_on(device, t.roots), {x.shape()[0], trees});
  const auto look = [&](const TensorHandle& table) { return fn::_index(table, {node}, 0); };
  for (int64_t step = depth_of(t); step > 0; --step) {
    const TensorHandle value = fn::gather(x, 1, look(feature)), bound = look(split);
    TensorHandle truth;
    for (const int64_t kind : kinds) {
      const TensorHandle own = compared(Branch(kind), value, bound);
      truth = truth.defined() ? fn::where(fn::eq(look(mode), kind), own, truth) : own;
    }
    if (tracks) truth = fn::where(fn::isnan(value), look(missing_is_yes), truth);
    else if (std::find(kinds.begin(), kinds.end(), int64_t(Branch::neq)) != kinds.end())
      truth = fn::logical_and(truth, fn::logical_not(fn::isnan(value)));
    node = fn::where(truth, look(yes), look(no));
  }
  const bool extremum = fold == Fold::min || fold == Fold::max;
  const double absent = fold == Fold::min ? kInfinity : fold == Fold::max ? -kInfinity : 0;
  std::vector<double> table(size_t(count * t.targets), absent);
  for (const Trees::Weight& w : t.weights) {
    require<FormatError>(w.node >= 0 && w.node < count && w.target >= 0 && w.target < t.targets,
        "[tree_ensemble] no such leaf or target: got {} and {}", w.node, w.target);
    double& v = table[size_t(w.node * t.targets + w.target)];
    v = std::isinf(absent) && v == absent ? w.value
        : fold == Fold::min               ? std::min(v, w.value)
        : fold == Fold::max               ? std::max(v, w.value)
                                          : v + w.value;
  }
  const TensorHandle leaves = fn::reshape(reals(table), {count, t.targets});
  const TensorHandle votes = fn::_index(leaves, {node}, 0);  // (N, trees, targets)
  switch (fold) {
    case Fold::average:
      return fn::sum(votes, Dims{1}) / double(trees);
    case Fold::sum:
      return fn::sum(votes, Dims{1});
    default:
      break;
  }
  const TensorHandle best = fold == Fold::min ? fn::amin(votes, Dims{1}) : fn::amax(votes, Dims{1});
  return extremum ? fn::where(fn::isinf(best), 0.0, best) : best;
}

TensorHandle transformed(const TensorHandle& scores, const std::string& how) {
  if (how == "NONE") return scores;
  if (how == "SOFTMAX") return fn::softmax(scores, -1);
  if (how == "LOGISTIC") return fn::sigmoid(scores);
  if (how == "SOFTMAX_ZERO") {  // zeros stay zeros
    const TensorHandle zero = fn::eq(scores, 0);
    return fn::where(zero, 0.0, fn::softmax(fn::where(zero, -kInfinity, scores), -1));
  }
  require<FormatError>(how == "PROBIT", "[onnx] no such post_transform: got '{}'", how);
  return fn::erfinv(scores * 2.0 - 1.0) * std::sqrt(2.0);
}

int64_t label_count(Call& c, const char* integers, const char* texts) {
  return c.has(texts) ? int64_t(c.texts(texts).size()) : int64_t(c.integers(integers, {}).size());
}
Value labels_at(Call& c, const TensorHandle& places, const char* integers, const char* texts) {
  if (!c.has(texts)) return fn::_index(integers_on(places.device(), c.integers(integers, {})), {places}, 0);
  const std::vector<std::string> names = c.texts(texts);
  std::vector<int64_t> at(size_t(places.numel()));
  to_host(places, {at.data(), {places.shape(), DType::int64}});
  std::vector<std::string> items;
  for (const int64_t i : at) items.push_back(names.at(size_t(i)));
  return make_ref<Strings>(places.shape(), std::move(items));
}

Results classified(Call& c, TensorHandle scores, bool weights_are_positive, const char* integers, const char* texts) {
  const std::string how = c.text("post_transform", "NONE");
  const int64_t classes = label_count(c, integers, texts);
  if (scores.shape()[1] == 1) {
    require<FormatError>(classes == 1 || classes == 2, "[onnx] one score cannot tell {} classes apart", classes);
    const TensorHandle places = fn::cast(fn::gt(fn::select(scores, 1, 0), weights_are_positive ? 0.5 : 0.0), DType::int64);
    if (how == "PROBIT") scores = transformed(scores, how);
    else if (weights_are_positive && how != "LOGISTIC") scores = fn::cat({1.0 - scores, scores}, 1);
    else scores = transformed(fn::cat({-scores, scores}, 1), how == "LOGISTIC" ? how : "NONE");
    return Values{labels_at(c, classes == 1 ? fn::zeros_like(places) : places, integers, texts), scores};
  }
  require<FormatError>(classes == scores.shape()[1], "[onnx] expected a label for each of {} scores: got {}", scores.shape()[1], classes);
  return Values{labels_at(c, fn::argmax(scores, 1), integers, texts), transformed(scores, how)};
}

}  // namespace pyburn::onnx
