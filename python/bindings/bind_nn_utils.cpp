// What nn.utils does in C++ beside initialisers and gradients: packed sequences, parametrized weights, fused layers.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "layer_class.h"
#include "pyburn/nn/fuse.h"
#include "pyburn/nn/grad.h"
#include "pyburn/nn/linear_cross_entropy.h"
#include "pyburn/nn/orthogonal_matrix.h"
#include "pyburn/nn/packed_sequence.h"
#include "pyburn/nn/parametrizations.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace pyburn::python {
namespace {

using Tensor_ = const TensorHandle&;
using Numbers = std::vector<int64_t>;

Dims dims_of(const Numbers& numbers) { return Dims(std::span<const int64_t>(numbers)); }

template <class List>
nb::list listed(const List& numbers) {
  nb::list list;
  for (int64_t n : numbers) list.append(n);
  return list;
}

void bind_sequences(nb::module_& m) {
  m.def("_pack_padded", [](Tensor_ input, std::vector<int64_t> lengths, bool batch_first, bool enforce_sorted) {
    const nn::PackedSequence packed = nn::pack_padded_sequence(input, std::move(lengths), batch_first, enforce_sorted);
    return nb::make_tuple(packed.data, listed(packed.batch_sizes), packed.sorted_indices);
  });
  m.def(
      "_pad_packed",
      [](Tensor_ data, const Numbers& batch_sizes, Tensor_ unsorted, bool batch_first, double value, std::optional<int64_t> total) {
        const nn::PackedSequence packed{data, dims_of(batch_sizes), {}, unsorted};
        const nn::PaddedSequence padded = nn::pad_packed_sequence(packed, batch_first, value, total);
        return nb::make_tuple(padded.output, listed(padded.lengths));
      },
      "data"_a, "batch_sizes"_a, "unsorted"_a.none(), "batch_first"_a, "value"_a, "total"_a.none());
  m.def("_pad_sequence", [](const std::vector<TensorHandle>& sequences, bool batch_first, double value, const std::string& side) {
    return nn::pad_sequence(Tensors(std::span<const TensorHandle>(sequences)), batch_first, value, side);
  });
}

void bind_parametrized(nb::module_& m) {
  m.def("_norm_except", nn::norm_except);
  m.def("_with_norm", nn::with_norm);
  m.def("_power_iterations", nn::power_iterations);
  m.def("_orthogonal_matrix", nn::orthogonal_matrix, "x"_a, "map"_a, "base"_a.none());
  m.def("_orthogonal_start", [](Tensor_ q, const std::string& map, bool turned) {
    const nn::OrthogonalStart start = nn::orthogonal_start(q, map, turned);
    return nb::make_tuple(start.x, start.base);
  });
}

}  // namespace

void bind_nn_utils(nb::module_& m) {
  bind_sequences(m);
  bind_parametrized(m);
  m.def("_conv_gradient", [](bool of_input, Tensor_ a, Tensor_ b, const Numbers& size, const Numbers& stride, const Numbers& padding,
                              const Numbers& dilation, int64_t groups) {
    const nn::grad::ConvOptions options{dims_of(stride), dims_of(padding), dims_of(dilation), groups};
    return of_input ? nn::grad::conv_input(dims_of(size), b, a, options) : nn::grad::conv_weight(a, dims_of(size), b, options);
  });
  m.def(
      "_fuse_bn_weights",
      [](Tensor_ weight, Tensor_ bias, Tensor_ mean, Tensor_ var, double eps, Tensor_ scale, Tensor_ shift, int axis) {
        const nn::FusedWeights fused = nn::fuse_bn_weights(weight, bias, {mean, var, eps, scale, shift}, axis);
        return nb::make_tuple(fused.weight, fused.bias);
      },
      "weight"_a, "bias"_a.none(), "mean"_a, "var"_a, "eps"_a, "scale"_a.none(), "shift"_a.none(), "axis"_a);
  m.def(
      "_linear_cross_entropy",
      [](Tensor_ input, Tensor_ linear_weight, Tensor_ target, Tensor_ linear_bias, Tensor_ weight, const std::string& reduction,
          std::optional<int64_t> ignore_index, double label_smoothing) {
        const GilRelease released(input.numel() >= 1 << 12);  // elements; each goes through many products
        return nn::linear_cross_entropy(input, linear_weight, target, linear_bias, {weight, reduction, ignore_index, label_smoothing});
      },
      "input"_a, "linear_weight"_a, "target"_a, "linear_bias"_a.none(), "weight"_a.none(), "reduction"_a, "ignore_index"_a.none(),
      "label_smoothing"_a);
}

}  // namespace pyburn::python
