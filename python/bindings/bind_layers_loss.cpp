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
      "Log-probabilities of classes sorted by how often they occur: the first ones directly, the others in clusters that end at cutoffs."
      "\n\n>>> layer = pyburn.nn.AdaptiveLogSoftmaxWithLoss(8, 20, cutoffs=[5, 10])"
      "\n>>> layer(pyburn.randn(3, 8), pyburn.tensor([0, 7, 19])).output.shape")
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
      .def("log_prob", &L::log_prob, "input"_a, "The log-probabilities of all classes: (N, n_classes).")
      .def("predict", &L::predict, "input"_a, "The most likely class of each example.")
      .def_prop_ro(
          "cutoffs",
          [](const L& self) {
            nb::list list;
            for (int64_t n : self.options().cutoffs) list.append(n);
            return list;
          },
          "Where clusters begin, and the number of classes.")
      .def_prop_ro("shortlist_size", &L::shortlist_size, "Classes that are computed directly.")
      .def_prop_ro("n_clusters", &L::n_clusters, "Groups of rarer classes.")
      .def_prop_ro("head_size", &L::head_size, "Scores that the head computes: of the direct classes, and of the clusters.");
}

}  // namespace

void bind_layers_loss(nb::module_& m) {
  bind_adaptive_softmax(m);
  bind_layer_of<nn::L1Loss>(m,
      "Absolute differences."
      "\n\n>>> pyburn.nn.L1Loss()(pyburn.zeros(2), pyburn.ones(2))",
      "size_average, reduce, reduction", "input"_a, "target"_a);
  bind_layer_of<nn::MSELoss>(m,
      "Squared differences."
      "\n\n>>> pyburn.nn.MSELoss()(pyburn.zeros(2), pyburn.ones(2))",
      "size_average, reduce, reduction", "input"_a, "target"_a);
  bind_layer_of<nn::SmoothL1Loss>(m,
      "Squared differences / (2 beta) up to beta, absolute ones beyond."
      "\n\n>>> pyburn.nn.SmoothL1Loss()(pyburn.zeros(2), pyburn.ones(2))",
      "size_average, reduce, reduction, beta", "input"_a, "target"_a);
  bind_layer_of<nn::HuberLoss>(m,
      "Half the squared differences up to delta, linear beyond."
      "\n\n>>> pyburn.nn.HuberLoss()(pyburn.zeros(2), pyburn.ones(2))",
      nullptr, "input"_a, "target"_a);
  bind_layer_of<nn::LpLoss>(m,
      "Absolute differences to the power of p: Burn's."
      "\n\n>>> pyburn.nn.LpLoss(3)(pyburn.zeros(2), pyburn.ones(2))",
      nullptr, "input"_a, "target"_a);
  bind_layer_of<nn::KLDivLoss>(m,
      "The divergence of log-probabilities in input from target; reduction may be 'batchmean'."
      "\n\n>>> pyburn.nn.KLDivLoss(reduction='batchmean')(pyburn.zeros(2), pyburn.ones(2))",
      "size_average, reduce, reduction, log_target", "input"_a, "target"_a);
  bind_layer_of<nn::PoissonNLLLoss>(m,
      "Minus the logarithm of the Poisson probability of target, for rates (or their logarithms) in input."
      "\n\n>>> pyburn.nn.PoissonNLLLoss()(pyburn.zeros(2), pyburn.ones(2))",
      "log_input, full, size_average, eps, reduce, reduction", "log_input"_a, "target"_a);
  bind_layer_of<nn::HingeEmbeddingLoss>(m,
      "input where target is 1, max(0, margin - input) where it is -1."
      "\n\n>>> pyburn.nn.HingeEmbeddingLoss()(pyburn.ones(2), pyburn.tensor([1.0, -1.0]))",
      "margin, size_average, reduce, reduction", "input"_a, "target"_a);
  bind_layer_of<nn::SoftMarginLoss>(m,
      "log(1 + exp(-target * input)), for targets 1 and -1."
      "\n\n>>> pyburn.nn.SoftMarginLoss()(pyburn.ones(2), pyburn.tensor([1.0, -1.0]))",
      "size_average, reduce, reduction", "input"_a, "target"_a);
  bind_layer_of<nn::GaussianNLLLoss>(m,
      "Minus the logarithm of the normal density of target, with mean input and variance var, a tensor or a number."
      "\n\n>>> pyburn.nn.GaussianNLLLoss()(pyburn.zeros(2), pyburn.ones(2), 0.5)",
      nullptr, "input"_a, "target"_a, "var"_a)
      .def(
          "forward",
          [](nn::GaussianNLLLoss& self, const TensorHandle& input, const TensorHandle& target, double var) {
            return self.forward(input, target, fn::full_like(input, var));
          },
          "input"_a, "target"_a, "var"_a);
  bind_layer_of<nn::MarginRankingLoss>(m,
      "max(0, margin - target * (input1 - input2)): target 1 wants the first to be larger, -1 the second."
      "\n\n>>> pyburn.nn.MarginRankingLoss()(pyburn.ones(1), pyburn.zeros(1), pyburn.tensor([-1.0]))",
      "margin, size_average, reduce, reduction", "input1"_a, "input2"_a, "target"_a);
  bind_layer_of<nn::CosineEmbeddingLoss>(m,
      "1 - cos where target is 1, max(0, cos - margin) where it is -1; cos is that of the angle between the vectors."
      "\n\n>>> pyburn.nn.CosineEmbeddingLoss()(pyburn.ones(1, 2), pyburn.ones(1, 2), pyburn.tensor([1.0]))",
      "margin, size_average, reduce, reduction", "input1"_a, "input2"_a, "target"_a);
  bind_layer_of<nn::TripletMarginLoss>(m,
      "max(0, distance(anchor, positive) - distance(anchor, negative) + margin)."
      "\n\n>>> pyburn.nn.TripletMarginLoss()(pyburn.zeros(1, 2), pyburn.ones(1, 2), pyburn.zeros(1, 2))",
      "margin, p, eps, swap, size_average, reduce, reduction", "anchor"_a, "positive"_a, "negative"_a);
  bind_layer_of<nn::NLLLoss>(m,
      "Minus the log-probability that input (N, C, ...) gives to the classes in target."
      "\n\n>>> pyburn.nn.NLLLoss()(pyburn.zeros(1, 3), pyburn.tensor([2]))",
      "weight, size_average, ignore_index, reduce, reduction", "input"_a, "target"_a);
  bind_layer_of<nn::NLLLoss2d>(m,
      "The former name of NLLLoss for images."
      "\n\n>>> pyburn.nn.NLLLoss2d()(pyburn.zeros(1, 3, 1, 1), pyburn.tensor([[[2]]]))",
      "weight, size_average, ignore_index, reduce, reduction", "input"_a, "target"_a);
  bind_layer_of<nn::CrossEntropyLoss>(m,
      "NLLLoss of LogSoftmax of input; target holds classes, or probabilities of the shape of input."
      "\n\n>>> pyburn.nn.CrossEntropyLoss()(pyburn.zeros(1, 3), pyburn.tensor([2]))",
      "weight, size_average, ignore_index, reduce, reduction, label_smoothing", "input"_a, "target"_a);
  bind_layer_of<nn::BCELoss>(m,
      "Cross entropy of probabilities in input and targets between 0 and 1."
      "\n\n>>> pyburn.nn.BCELoss()(pyburn.tensor([0.5]), pyburn.tensor([1.0]))",
      "weight, size_average, reduce, reduction", "input"_a, "target"_a);
  bind_layer_of<nn::BCEWithLogitsLoss>(m,
      "BCELoss of sigmoid(input), computed without overflow."
      "\n\n>>> pyburn.nn.BCEWithLogitsLoss()(pyburn.zeros(1), pyburn.ones(1))",
      "weight, size_average, reduce, reduction, pos_weight", "input"_a, "target"_a);
  bind_layer_of<nn::MultiLabelMarginLoss>(m,
      "max(0, 1 - input[right] + input[wrong]) over all pairs of a right and a wrong class; target lists the right ones, ended by -1."
      "\n\n>>> pyburn.nn.MultiLabelMarginLoss()(pyburn.zeros(1, 3), pyburn.tensor([[2, -1, 0]]))",
      "size_average, reduce, reduction", "input"_a, "target"_a);
  bind_layer_of<nn::MultiLabelSoftMarginLoss>(m,
      "The mean over the classes of the cross entropy of sigmoid(input) and targets between 0 and 1."
      "\n\n>>> pyburn.nn.MultiLabelSoftMarginLoss()(pyburn.zeros(1, 3), pyburn.ones(1, 3))",
      "weight, size_average, reduce, reduction", "input"_a, "target"_a);
  bind_layer_of<nn::MultiMarginLoss>(m,
      "The mean over the other classes of max(0, margin - input[target] + input[other])^p."
      "\n\n>>> pyburn.nn.MultiMarginLoss()(pyburn.zeros(1, 3), pyburn.tensor([2]))",
      "p, margin, weight, size_average, reduce, reduction", "input"_a, "target"_a);
  bind_layer<nn::CTCLoss>(m,
      "Minus the logarithm of the probability of targets under all alignments with log_probs (T, N, C); lengths are tensors or numbers."
      "\n\n>>> pyburn.nn.CTCLoss()(pyburn.zeros(3, 1, 4), pyburn.tensor([[1, 2]]), (3,), (2,))")
      .def(
          "forward",
          [](nn::CTCLoss& self, const TensorHandle& log_probs, const TensorHandle& targets, nb::handle input_lengths,
              nb::handle target_lengths) {
            return self.forward(log_probs, targets, to_lengths(input_lengths), to_lengths(target_lengths));
          },
          "log_probs"_a, "targets"_a, "input_lengths"_a, "target_lengths"_a);
  bind_layer_of<nn::RNNTLoss>(m,
      "The loss of transducers: logits (B, T, U + 1, V), targets (B, U), and how much of each counts per sample."
      "\n\n>>> pyburn.nn.RNNTLoss()(pyburn.zeros(1, 2, 3, 4), pyburn.tensor([[1, 2]]), pyburn.tensor([2]), pyburn.tensor([2]))",
      nullptr, "logits"_a, "targets"_a, "logit_lengths"_a, "target_lengths"_a);
}

}  // namespace pyburn::python
