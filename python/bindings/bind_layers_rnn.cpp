// Recurrent layers as classes of pyburn.nn. Beside tensors they take packed sequences: anything with PackedSequence's four fields.
#include <nanobind/stl/string.h>

#include "layer_class.h"
#include "pyburn/nn/rnn.h"
#include "pyburn/nn/rnn_cell.h"
#include "pyburn/ops/generated/index.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace pyburn::python {
namespace {

struct States {
  TensorHandle h, c;
};

// hx as users give it: None, a tensor, or for lstm a pair.
States states_of(nb::handle hx, bool has_cells) {
  if (hx.is_none()) return {};
  if (!has_cells) {
    if (!is_tensor(hx.ptr())) throw nb::type_error("expected a Tensor for hx");
    return {unwrap(hx.ptr()), {}};
  }
  const bool pair = (PyTuple_Check(hx.ptr()) || PyList_Check(hx.ptr())) && nb::len(hx) == 2;
  if (!pair || !is_tensor(nb::object(hx[0]).ptr()) || !is_tensor(nb::object(hx[1]).ptr()))
    throw nb::type_error("expected a pair of Tensors for hx: the states and the cells");
  return {unwrap(nb::object(hx[0]).ptr()), unwrap(nb::object(hx[1]).ptr())};
}

nb::object states_object(const TensorHandle& h, const TensorHandle& c, bool has_cells) {
  return has_cells ? nb::object(nb::make_tuple(h, c)) : nb::cast(h);
}

TensorHandle in_order(const TensorHandle& state, nb::handle order) {
  return state.defined() && !order.is_none() ? fn::index_select(state, 1, unwrap(order.ptr())) : state;
}

template <class L>
nb::object forward_packed(L& self, nb::handle packed, nb::handle hx, bool has_cells) {
  const nb::object data = packed.attr("data"), sorted = packed.attr("sorted_indices"), unsorted = packed.attr("unsorted_indices");
  if (!is_tensor(data.ptr())) throw nb::type_error("expected a Tensor as the data of a packed sequence");
  const nb::object sizes = packed.attr("batch_sizes");
  const nb::object numbers = sizes.attr("tolist")();
  const States first = states_of(hx, has_cells);
  const nn::RecurrentResult r =
      self.forward_packed(unwrap(data.ptr()), to_dims(numbers.ptr()), in_order(first.h, sorted), in_order(first.c, sorted));
  const nb::object output = nb::handle(packed.type())(nb::cast(r.output), sizes, sorted, unsorted);
  return nb::make_tuple(output, states_object(in_order(r.hn, unsorted), in_order(r.cn, unsorted), has_cells));
}

template <class L>
nb::object forward(L& self, nb::handle input, nb::handle hx) {
  const bool has_cells = std::is_same_v<L, nn::LSTM>;
  if (!is_tensor(input.ptr())) {
    if (nb::hasattr(input, "batch_sizes")) return forward_packed(self, input, hx, has_cells);
    throw nb::type_error("expected a Tensor or a PackedSequence");
  }
  const TensorHandle x = unwrap(input.ptr());
  const States first = states_of(hx, has_cells);
  nn::RecurrentResult r;
  {
    constexpr int64_t large = 1 << 8;  // elements; each goes through many products
    const ComputesWith released(x.numel() >= large, self, x, first.h, first.c);
    r = self.L::forward(x, first.h, first.c);
  }
  return nb::make_tuple(nb::cast(r.output), states_object(r.hn, r.cn, has_cells));
}

// The parameters of each layer and direction, as PyTorch lists them.
template <class L>
nb::list all_weights(L& self) {
  const nn::Recurrence r = self.recurrence();
  nb::list all;
  for (int64_t layer = 0; layer < r.num_layers; ++layer)
    for (int64_t direction = 0; direction < r.directions(); ++direction) {
      nb::list one;
      for (const std::string& name : parameter_names(r, layer, direction)) one.append(nb::cast(self.tensor(name)));
      all.append(one);
    }
  return all;
}

// PyTorch's name of the cell: LSTM, GRU, RNN_TANH or RNN_RELU.
template <class L>
std::string mode(L& self) {
  const std::string_view cell = self.recurrence().cell;
  return cell == "lstm" ? "LSTM" : cell == "gru" ? "GRU" : cell == "tanh" ? "RNN_TANH" : "RNN_RELU";
}

template <class L>
void bind_recurrent(nb::module_& m, const char* doc) {
  auto c = bind_layer<L>(m, doc);
  if constexpr (!std::is_same_v<L, nn::LSTM>) c.def_prop_ro("proj_size", [](const L&) { return 0; });  // an option of LSTM alone
  c.def("forward", forward<L>, "input"_a, "hx"_a.none() = nb::none())
      .def_prop_ro("mode", mode<L>, "The name of the cell.")
      .def_prop_ro("all_weights", all_weights<L>, "The parameters of each layer and direction.")
      .def(
          "flatten_parameters", [](L&) {}, "Does nothing: the parameters need no special place in memory.");
}

}  // namespace

void bind_layers_rnn(nb::module_& m) {
  bind_recurrent<nn::RNN>(m,
      "Applies a multi-layer Elman network to input (T, N, input_size), or (N, T, input_size) with batch_first.\n\n>>> output, hn = "
      "pyburn.nn.RNN(3, 2)(pyburn.ones(5, 1, 3))\n>>> output.shape, hn.shape\n(pyburn.Size([5, 1, 2]), pyburn.Size([1, 1, 2]))");
  bind_recurrent<nn::GRU>(m,
      "Applies a multi-layer gated recurrent unit to input (T, N, input_size), or (N, T, input_size) with batch_first.\n\n>>> output, hn = "
      "pyburn.nn.GRU(3, 2)(pyburn.ones(5, 1, 3))\n>>> output.shape, hn.shape\n(pyburn.Size([5, 1, 2]), pyburn.Size([1, 1, 2]))");
  bind_recurrent<nn::LSTM>(m,
      "Applies a multi-layer long short-term memory to input (T, N, input_size), or (N, T, input_size) with batch_first.\n\n>>> output, "
      "(hn, cn) = pyburn.nn.LSTM(3, 2, num_layers=2)(pyburn.ones(5, 1, 3))\n>>> output.shape, cn.shape\n(pyburn.Size([5, 1, 2]), "
      "pyburn.Size([2, 1, 2]))");
  auto rnn = bind_layer<nn::RNNCell>(m,
      "Computes one step of an Elman network for input (N, input_size) and state (N, hidden_size).\n\n>>> pyburn.nn.RNNCell(3, "
      "2)(pyburn.ones(1, 3)).shape\npyburn.Size([1, 2])");
  bind_forward(rnn, &nn::RNNCell::forward, "input"_a, "hx"_a.none() = nb::none());
  auto gru = bind_layer<nn::GRUCell>(m,
      "Computes one step of a gated recurrent unit for input (N, input_size) and state (N, hidden_size).\n\n>>> pyburn.nn.GRUCell(3, "
      "2)(pyburn.ones(1, 3)).shape\npyburn.Size([1, 2])");
  bind_forward(gru, &nn::GRUCell::forward, "input"_a, "hx"_a.none() = nb::none());
  bind_layer<nn::LSTMCell>(m,
      "Computes one step of a long short-term memory for input (N, input_size) and states (h, c) of shape (N, hidden_size).\n\n>>> h, c = "
      "pyburn.nn.LSTMCell(3, 2)(pyburn.ones(1, 3))\n>>> h.shape, c.shape\n(pyburn.Size([1, 2]), pyburn.Size([1, 2]))")
      .def(
          "forward",
          [](nn::LSTMCell& self, const TensorHandle& input, nb::handle hx) {
            const States first = states_of(hx, true);
            const auto [h, c] = self.nn::LSTMCell::forward(input, first.h, first.c);
            return nb::make_tuple(h, c);
          },
          "input"_a, "hx"_a.none() = nb::none());
}

}  // namespace pyburn::python
