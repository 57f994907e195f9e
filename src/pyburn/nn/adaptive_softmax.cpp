#include "pyburn/nn/adaptive_softmax.h"

#include <cmath>

#include "pyburn/nn/linear.h"
#include "pyburn/nn/module_list.h"
#include "pyburn/nn/parts.h"
#include "pyburn/nn/sequential.h"
#include "pyburn/ops/generated/binary.h"
#include "pyburn/ops/generated/extremum.h"
#include "pyburn/ops/generated/fill.h"
#include "pyburn/ops/generated/index.h"
#include "pyburn/ops/generated/join.h"
#include "pyburn/ops/generated/logic.h"
#include "pyburn/ops/generated/movement.h"
#include "pyburn/ops/generated/reduce.h"
#include "pyburn/ops/generated/scatter.h"
#include "pyburn/ops/generated/softmax.h"
#include "pyburn/ops/operators.h"
#include "pyburn/runtime/transfer.h"

namespace pyburn::nn {
namespace {

// scores[i][index[i]]
TensorHandle picked(const TensorHandle& scores, const TensorHandle& index) {
  return fn::squeeze(fn::gather(scores, 1, fn::unsqueeze(index, 1)), Dims{1});
}

}  // namespace

AdaptiveLogSoftmaxWithLoss::AdaptiveLogSoftmaxWithLoss(AdaptiveLogSoftmaxConfig config, Placement p) : Layer(std::move(config)) {
  AdaptiveLogSoftmaxConfig& c = config_;
  require<ValueError>(!c.cutoffs.empty(), "cutoffs should be a sequence of length larger than 0");
  bool rises = c.cutoffs[0] > 0;
  for (int i = 1; i < int(c.cutoffs.size()); ++i) rises = rises && c.cutoffs[i - 1] < c.cutoffs[i];
  require<ValueError>(rises && c.cutoffs.back() <= c.n_classes - 1,
      "cutoffs should be a sequence of unique, positive integers sorted in an increasing order, where each value is between 1 and "
      "n_classes-1");
  c.cutoffs.push_back(c.n_classes);
  register_module("head", make_ref<Linear>(c.in_features, head_size(), c.head_bias, p));
  const auto tail = make_ref<ModuleList>();
  for (int i = 0; i < int(n_clusters()); ++i) {
    const int64_t narrow = int64_t(std::floor(double(c.in_features) / std::pow(c.div_value, i + 1)));
    tail->append(
        sequential(make_ref<Linear>(c.in_features, narrow, false, p), make_ref<Linear>(narrow, c.cutoffs[i + 1] - c.cutoffs[i], false, p)));
  }
  register_module("tail", tail);
}

void AdaptiveLogSoftmaxWithLoss::reset_parameters() {
  apply([](Module& m) {
    if (auto* linear = dynamic_cast<Linear*>(&m)) linear->reset_parameters();
  });
}

TensorHandle AdaptiveLogSoftmaxWithLoss::cluster_scores(int64_t cluster, const TensorHandle& x) {
  return fn::log_softmax(child(child(*this, "tail"), pyburn::to_text(cluster)).call(x), 1);
}

AdaptiveSoftmaxResult AdaptiveLogSoftmaxWithLoss::forward(const TensorHandle& input, const TensorHandle& target) {
  const int axes = target.rank();
  require<Error>(axes <= 1, "0D or 1D target tensor expected, multi-target not supported");
  require<Error>(input.rank() == axes + 1, "{}D target tensor expects {}D input tensors: got {}", axes, axes + 1, input.shape());
  require<Error>(axes == 0 || input.shape()[0] == target.shape()[0], "Input and target should have the same size in the batch dimension.");
  const bool alone = axes == 0;
  const TensorHandle x = alone ? fn::unsqueeze(input, 0) : input, wanted = alone ? fn::unsqueeze(target, 0) : target;
  if (wanted.numel() > 0) {
    const int64_t low = int64_t(read_number(fn::amin(wanted))), high = int64_t(read_number(fn::amax(wanted)));
    require<Error>(low >= 0 && high < config_.n_classes, "Target values should be in [0, {}], but values in range [{}, {}] were found. ",
        config_.n_classes - 1, low, high);
  }
  TensorHandle in_head = wanted;  // a class of the shortlist, or the place of a cluster
  TensorHandle in_tail = fn::zeros_like(fn::select(x, 1, 0));
  for (int64_t i = 0; i < n_clusters(); ++i) {
    const int64_t low = config_.cutoffs[int(i)], high = config_.cutoffs[int(i) + 1];
    const TensorHandle rows = fn::squeeze(fn::nonzero(fn::logical_and(fn::ge(wanted, low), fn::lt(wanted, high))), Dims{1});
    if (rows.numel() == 0) continue;
    in_head = fn::index_fill(in_head, 0, rows, shortlist_size() + i);
    const TensorHandle scores = cluster_scores(i, fn::index_select(x, 0, rows));
    in_tail = fn::index_add(in_tail, 0, rows, picked(scores, fn::index_select(wanted, 0, rows) - low));
  }
  const TensorHandle output = in_tail + picked(fn::log_softmax(child(*this, "head").call(x), 1), in_head);
  return {alone ? fn::squeeze(output, Dims{0}) : output, fn::mean(-output)};
}

TensorHandle AdaptiveLogSoftmaxWithLoss::log_prob(const TensorHandle& input) {
  const TensorHandle head = fn::log_softmax(child(*this, "head").call(input), 1);
  Tensors parts{fn::slice(head, 1, 0, shortlist_size())};
  for (int64_t i = 0; i < n_clusters(); ++i)
    parts.push_back(cluster_scores(i, input) + fn::slice(head, 1, shortlist_size() + i, shortlist_size() + i + 1));
  return fn::cat(parts, 1);
}

TensorHandle AdaptiveLogSoftmaxWithLoss::predict(const TensorHandle& input) { return fn::argmax(log_prob(input), 1); }

}  // namespace pyburn::nn
