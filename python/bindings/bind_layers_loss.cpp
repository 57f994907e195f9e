// Losses, with the arguments of PyTorch in its order.
#include "layer_class.h"
#include "pyburn/nn/adaptive_softmax.h"
#include "pyburn/nn/class_loss.h"
#include "pyburn/nn/loss.h"
#include "pyburn/nn/transducer_loss.h"
#include "pyburn/nn/weighted_loss.h"
#include "pyburn/ops/generated/fill.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace pyburn::python {
namespace {

// Lengths that are numbers as a tensor on the host.
TensorHandle to_lengths(nb::handle lengths) {
  if (is_tensor(lengths.ptr())) return unwrap(lengths.ptr());
  return unwrap(nb::module_::import_("pyburn").attr("tensor")(nb::list(nb::tuple(lengths)), "dtype"_a = dtype_object(DType::int64)).ptr());
}

void bind_adaptive_softmax(nb::module_& m) {
  using L = nn::AdaptiveLogSoftmaxWithLoss;
  bind_layer<L>(m,
      "Approximates the softmax over many classes: classes sorted by frequency are divided into clusters that end at cutoffs.\n\n>>> layer "
      "= pyburn.nn.AdaptiveLogSoftmaxWithLoss(8, 20, cutoffs=[5, 10])\n>>> layer(pyburn.randn(3, 8), pyburn.tensor([0, 7, "
      "19])).output.shape\npyburn.Size([3])")
      .def(
          "forward",
          [](L& self, const TensorHandle& input, const TensorHandle& target) {
            const nn::AdaptiveSoftmaxResult r = [&] {
              const GilRelease released(input.numel() >= 1 << 12);  // elements; each goes through many products
              return self.L::forward(input, target);
            }();
            return nb::module_::import_("pyburn.nn.adaptive_softmax").attr("AdaptiveSoftmaxOutput")(r.output, r.loss);
          },
          "input_"_a, "target_"_a)
      .def("log_prob", &L::log_prob, "input"_a, "Computes the log-probabilities of all classes: (N, n_classes).")
      .def("predict", &L::predict, "input"_a, "Returns the most likely class of each sample.")
      .def_prop_ro(
          "cutoffs",
          [](const L& self) {
            nb::list list;
            for (int64_t n : self.options().cutoffs) list.append(n);
            return list;
          },
          "The cutoffs of the clusters, and the number of classes.")
      .def_prop_ro("shortlist_size", &L::shortlist_size, "The number of classes that are computed directly.")
      .def_prop_ro("n_clusters", &L::n_clusters, "The number of clusters of rarer classes.")
      .def_prop_ro("head_size", &L::head_size, "The number of outputs of the head: the direct classes and the clusters.");
}

}  // namespace

void bind_layers_loss(nb::module_& m) {
  bind_adaptive_softmax(m);
  bind_layer_of<nn::L1Loss>(m, "Computes the mean absolute error.\n\n>>> pyburn.nn.L1Loss()(pyburn.zeros(2), pyburn.ones(2))\ntensor(1.)",
      "size_average, reduce, reduction", "input"_a, "target"_a);
  bind_layer_of<nn::MSELoss>(m, "Computes the mean squared error.\n\n>>> pyburn.nn.MSELoss()(pyburn.zeros(2), pyburn.ones(2))\ntensor(1.)",
      "size_average, reduce, reduction", "input"_a, "target"_a);
  bind_layer_of<nn::SmoothL1Loss>(m,
      "Computes the smooth L1 loss: squared differences / (2 * beta) below beta, absolute differences - beta / 2 above.\n\n>>> "
      "pyburn.nn.SmoothL1Loss()(pyburn.zeros(2), pyburn.ones(2))\ntensor(0.5000)",
      "size_average, reduce, reduction, beta", "input"_a, "target"_a);
  bind_layer_of<nn::HuberLoss>(m,
      "Computes the Huber loss: half the squared differences below delta, linear above.\n\n>>> pyburn.nn.HuberLoss()(pyburn.zeros(2), "
      "pyburn.ones(2))\ntensor(0.5000)",
      nullptr, "input"_a, "target"_a);
  bind_layer_of<nn::LpLoss>(m,
      "Computes the loss |input - target|^p (as in Burn).\n\n>>> pyburn.nn.LpLoss(3)(pyburn.zeros(2), pyburn.ones(2))\ntensor(1.)", nullptr,
      "input"_a, "target"_a);
  bind_layer_of<nn::KLDivLoss>(m,
      "Computes the Kullback-Leibler divergence of log-probabilities input from probabilities target.\n\n>>> "
      "pyburn.nn.KLDivLoss(reduction='batchmean')(pyburn.zeros(2), pyburn.ones(2))\ntensor(0.)",
      "size_average, reduce, reduction, log_target", "input"_a, "target"_a);
  bind_layer_of<nn::PoissonNLLLoss>(m,
      "Computes the negative log-likelihood of target under Poisson distributions with rates (or log-rates) input.\n\n>>> "
      "pyburn.nn.PoissonNLLLoss()(pyburn.zeros(2), pyburn.ones(2))\ntensor(1.)",
      "log_input, full, size_average, eps, reduce, reduction", "log_input"_a, "target"_a);
  bind_layer_of<nn::HingeEmbeddingLoss>(m,
      "Computes the hinge embedding loss: input where target is 1, max(0, margin - input) where target is -1.\n\n>>> "
      "pyburn.nn.HingeEmbeddingLoss()(pyburn.ones(2), pyburn.tensor([1.0, -1.0]))\ntensor(0.5000)",
      "margin, size_average, reduce, reduction", "input"_a, "target"_a);
  bind_layer_of<nn::SoftMarginLoss>(m,
      "Computes the soft margin loss log(1 + exp(-target * input)) for targets 1 and -1.\n\n>>> pyburn.nn.SoftMarginLoss()(pyburn.ones(2), "
      "pyburn.tensor([1.0, -1.0]))\ntensor(0.8133)",
      "size_average, reduce, reduction", "input"_a, "target"_a);
  bind_layer_of<nn::GaussianNLLLoss>(m,
      "Computes the negative log-likelihood of target under normal distributions with means input and variances var.\n\n>>> "
      "pyburn.nn.GaussianNLLLoss()(pyburn.zeros(2), pyburn.ones(2), 0.5)\ntensor(0.6534)",
      nullptr, "input"_a, "target"_a, "var"_a)
      .def(
          "forward",
          [](nn::GaussianNLLLoss& self, const TensorHandle& input, const TensorHandle& target, double var) {
            return self.forward(input, target, fn::full_like(input, var));
          },
          "input"_a, "target"_a, "var"_a);
  bind_layer_of<nn::MarginRankingLoss>(m,
      "Computes the margin ranking loss max(0, -target * (input1 - input2) + margin) for targets 1 and -1.\n\n>>> "
      "pyburn.nn.MarginRankingLoss()(pyburn.ones(1), pyburn.zeros(1), pyburn.tensor([-1.0]))\ntensor(1.)",
      "margin, size_average, reduce, reduction", "input1"_a, "input2"_a, "target"_a);
  bind_layer_of<nn::CosineEmbeddingLoss>(m,
      "Computes the cosine embedding loss: 1 - cos(input1, input2) where target is 1, max(0, cos(input1, input2) - margin) where it is "
      "-1.\n\n>>> pyburn.nn.CosineEmbeddingLoss()(pyburn.ones(1, 2), pyburn.ones(1, 2), pyburn.tensor([1.0]))\ntensor(0.)",
      "margin, size_average, reduce, reduction", "input1"_a, "input2"_a, "target"_a);
  bind_layer_of<nn::TripletMarginLoss>(m,
      "Computes the triplet margin loss max(0, d(anchor, positive) - d(anchor, negative) + margin).\n\n>>> "
      "pyburn.nn.TripletMarginLoss()(pyburn.zeros(1, 2), pyburn.ones(1, 2), pyburn.zeros(1, 2))\ntensor(2.4142)",
      "margin, p, eps, swap, size_average, reduce, reduction", "anchor"_a, "positive"_a, "negative"_a);
  bind_layer_of<nn::NLLLoss>(m,
      "Computes the negative log-likelihood loss of log-probabilities (N, C, ...) and target classes (N, ...).\n\n>>> "
      "pyburn.nn.NLLLoss()(pyburn.zeros(1, 3), pyburn.tensor([2]))\ntensor(0.)",
      "weight, size_average, ignore_index, reduce, reduction", "input"_a, "target"_a);
  bind_layer_of<nn::NLLLoss2d>(m,
      "Computes NLLLoss for images; deprecated name of NLLLoss.\n\n>>> pyburn.nn.NLLLoss2d()(pyburn.zeros(1, 3, 1, 1), "
      "pyburn.tensor([[[2]]]))\ntensor(0.)",
      "weight, size_average, ignore_index, reduce, reduction", "input"_a, "target"_a);
  bind_layer_of<nn::CrossEntropyLoss>(m,
      "Computes the cross-entropy loss of logits (N, C, ...) and target classes (N, ...), or class probabilities (N, C, ...).\n\n>>> "
      "pyburn.nn.CrossEntropyLoss()(pyburn.zeros(1, 3), pyburn.tensor([2]))\ntensor(1.0986)",
      "weight, size_average, ignore_index, reduce, reduction, label_smoothing", "input"_a, "target"_a);
  bind_layer_of<nn::BCELoss>(m,
      "Computes the binary cross-entropy of probabilities and targets in [0, 1].\n\n>>> pyburn.nn.BCELoss()(pyburn.tensor([0.5]), "
      "pyburn.tensor([1.0]))\ntensor(0.6931)",
      "weight, size_average, reduce, reduction", "input"_a, "target"_a);
  bind_layer_of<nn::BCEWithLogitsLoss>(m,
      "Computes the binary cross-entropy of logits and targets in [0, 1] in a numerically stable way.\n\n>>> "
      "pyburn.nn.BCEWithLogitsLoss()(pyburn.zeros(1), pyburn.ones(1))\ntensor(0.6931)",
      "weight, size_average, reduce, reduction, pos_weight", "input"_a, "target"_a);
  bind_layer_of<nn::MultiLabelMarginLoss>(m,
      "Computes the multi-label margin loss of scores (N, C) or (C); target lists the correct classes, terminated by -1.\n\n>>> "
      "pyburn.nn.MultiLabelMarginLoss()(pyburn.zeros(1, 3), pyburn.tensor([[2, -1, 0]]))\ntensor(0.6667)",
      "size_average, reduce, reduction", "input"_a, "target"_a);
  bind_layer_of<nn::MultiLabelSoftMarginLoss>(m,
      "Computes the multi-label soft margin loss: the binary cross-entropy of sigmoid(input), averaged over classes.\n\n>>> "
      "pyburn.nn.MultiLabelSoftMarginLoss()(pyburn.zeros(1, 3), pyburn.ones(1, 3))\ntensor(0.6931)",
      "weight, size_average, reduce, reduction", "input"_a, "target"_a);
  bind_layer_of<nn::MultiMarginLoss>(m,
      "Computes the multi-class margin loss of scores (N, C) or (C) and target classes.\n\n>>> pyburn.nn.MultiMarginLoss()(pyburn.zeros(1, "
      "3), pyburn.tensor([2]))\ntensor(0.6667)",
      "p, margin, weight, size_average, reduce, reduction", "input"_a, "target"_a);
  bind_layer<nn::CTCLoss>(m,
      "Computes the connectionist temporal classification loss of log-probabilities (T, N, C) or (T, C) and target sequences.\n\n>>> "
      "pyburn.nn.CTCLoss()(pyburn.zeros(3, 1, 4), pyburn.tensor([[1, 2]]), (3,), (2,))\ntensor(-0.8047)")
      .def(
          "forward",
          [](nn::CTCLoss& self, const TensorHandle& log_probs, const TensorHandle& targets, nb::handle input_lengths,
              nb::handle target_lengths) {
            return self.forward(log_probs, targets, to_lengths(input_lengths), to_lengths(target_lengths));
          },
          "log_probs"_a, "targets"_a, "input_lengths"_a, "target_lengths"_a);
  bind_layer_of<nn::RNNTLoss>(m,
      "Computes the RNN transducer loss of logits (B, T, U + 1, V) and targets (B, U), with the lengths of each sample.\n\n>>> "
      "pyburn.nn.RNNTLoss()(pyburn.zeros(1, 2, 3, 4), pyburn.tensor([[1, 2]]), pyburn.tensor([2]), pyburn.tensor([2]))\ntensor(4.4466)",
      nullptr, "logits"_a, "targets"_a, "logit_lengths"_a, "target_lengths"_a);
}

}  // namespace pyburn::python
