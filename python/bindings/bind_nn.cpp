// pyburn._core._nn: modules and layers, and functions of graphs. Methods that need no C++ are added in python/pyburn/nn.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>

#include "layer_class.h"
#include "pyburn/nn/geometric_edges.h"
#include "pyburn/nn/parameter.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace pyburn::python {
namespace {

using nn::geometric::Edges;
using Count = std::optional<int64_t>;

nb::object optional_tensor(const TensorHandle& t) { return t.defined() ? nb::cast(t) : nb::none(); }
nb::tuple as_pair(const Edges& edges) { return nb::make_tuple(edges.index, optional_tensor(edges.attr)); }
Edges edges_of(const TensorHandle& index, nb::handle attr) {
  return {index, attr.is_none() ? TensorHandle() : nb::cast<TensorHandle>(attr)};
}

// None, a number, a tensor or the name of a reduction.
nn::geometric::LoopFill fill_of(nb::handle value) {
  if (value.is_none()) return {};
  if (PyUnicode_Check(value.ptr())) return {.reduce = nb::cast<std::string>(value)};
  if (is_tensor(value.ptr())) return {.tensor = nb::cast<TensorHandle>(value)};
  return {.number = nb::cast<double>(value)};
}

template <Edges (*Add)(const Edges&, const nn::geometric::LoopFill&, Count)>
nb::tuple with_loops(const TensorHandle& index, nb::handle attr, nb::handle fill, Count nodes) {
  return as_pair(Add(edges_of(index, attr), fill_of(fill), nodes));
}

void bind_graph(nb::module_& m) {
  nb::module_ g = m.def_submodule("geometric");
  g.def("node_count", nn::geometric::node_count, "index"_a, "given"_a.none());
  g.def("scatter", nn::geometric::scatter, "src"_a, "index"_a, "dim"_a, "size"_a.none(), "reduce"_a);
  g.def("softmax", nn::geometric::softmax, "src"_a, "index"_a, "num_nodes"_a.none(), "dim"_a);
  g.def(
      "remove_self_loops", [](const TensorHandle& index, nb::handle attr) { return as_pair(remove_self_loops(edges_of(index, attr))); },
      "index"_a, "attr"_a.none());
  g.def("contains_self_loops", nn::geometric::contains_self_loops);
  g.def("to_undirected", nn::geometric::to_undirected, "index"_a, "num_nodes"_a.none());
  g.def("add_self_loops", with_loops<nn::geometric::add_self_loops>, "index"_a, "attr"_a.none(), "fill"_a.none(), "num_nodes"_a.none());
  g.def("add_remaining_self_loops", with_loops<nn::geometric::add_remaining_self_loops>, "index"_a, "attr"_a.none(), "fill"_a.none(),
      "num_nodes"_a.none());
  g.def(
      "gcn_norm",
      [](const TensorHandle& index, nb::handle weight, Count nodes, bool improved, bool loops, bool reversed, nb::handle dtype) {
        const auto given = dtype.is_none() ? std::optional<DType>() : to_dtype(dtype.ptr());
        return as_pair(gcn_norm(edges_of(index, weight), {nodes, improved, loops, reversed, given}));
      },
      "index"_a, "weight"_a.none(), "num_nodes"_a.none(), "improved"_a, "add_self_loops"_a, "target_to_source"_a, "dtype"_a.none());
}

}  // namespace

void bind_nn(nb::module_& m) {
  m.def("_make_parameter", [](nb::handle cls, const TensorHandle& data, bool requires_grad) {
    return nb::steal(wrap_as(reinterpret_cast<PyTypeObject*>(cls.ptr()), nn::Parameter(data, requires_grad)));
  });
  m.def("_set_parameter_class", [](nb::handle cls) { Py_XSETREF(parameter_type, cls.inc_ref().ptr()); });
  nb::module_ n = m.def_submodule("_nn");
  bind_module(n);
  bind_layer_groups(n);
  bind_layers(n);
  bind_containers(n);
  wrap_methods_of_modules();
  bind_graph(n);
  bind_initialisers(n);
  bind_nn_utils(n);
}

}  // namespace pyburn::python
