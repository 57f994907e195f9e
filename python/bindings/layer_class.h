// Python classes of layers, from what C++ knows of them: constructor, options, documentation, forward.
#pragma once
#include <type_traits>

#include "module_class.h"
#include "pyburn/nn/layer.h"
#include "python_fields.h"

namespace pyburn::python {

// What the constructors of all layers ask of one class.
struct LayerClass {
  std::string name;
  const AttrType* config;
  nn::LayerText text;
  bool placed;  // makes parameters, so that it takes device and dtype
  // The arguments in Python's order, where it is not that of the fields: with names that are no fields, which older code may still use
  // and which pyburn.nn.legacy translates.
  const char* arguments = nullptr;

  // Reads a call: options by position and name into `options`, the rest into the placement. TypeErrors as Python's own.
  nn::Placement read(void* options, nanobind::args args, nanobind::kwargs kwargs) const;
  std::string documented(const char* doc) const;  // with the line that help() and inspect.signature() read
  nanobind::dict option_types() const;            // what the arguments may be, for type checkers
};

// Copies and pickles start from an instance with its options and nothing registered.
using MakeUnfilled = void (*)(PyObject* self, nanobind::handle config);
void add_unfilled_maker(nanobind::handle cls, MakeUnfilled make);
nanobind::object unfilled(nanobind::handle cls, nanobind::handle config);

template <class M>
void make_unfilled(PyObject* self, nanobind::handle config) {
  if constexpr (requires { typename M::Config; }) {
    typename M::Config c;
    fields_from_dict(attr_type<typename M::Config>, &c, config);
    new (nanobind::inst_ptr<M>(self)) M(std::move(c), nn::Unfilled{});
  } else {
    new (nanobind::inst_ptr<M>(self)) M();
  }
}

// forward() of tensors, without the GIL where the work is worth it. An input that may be absent is written "x"_a.none() = nb::none().
template <class L, class R, class... T, class... Names>
void bind_forward(nanobind::class_<L, nn::Module>& c, R (L::*)(T...), const Names&... names) {
  c.def(
      "forward",
      [](L& self, const std::remove_cvref_t<T>&... inputs) {
        constexpr int64_t large = 1 << 14;  // elements
        const GilRelease released(((inputs.defined() ? inputs.numel() : 0) + ...) >= large);
        return self.L::forward(inputs...);
      },
      names...);
}

// The same for a forward that is one of several overloads.
template <class L, class R, class... T, class... Names>
void bind_function(nanobind::class_<L, nn::Module>& c, std::type_identity<R(T...)>, const Names&... names) {
  bind_forward(c, static_cast<R (L::*)(T...)>(&L::forward), names...);
}

// forward() of a pool that gives indices as well when it is told to.
template <class L>
void bind_pool(nanobind::class_<L, nn::Module>& c) {
  c.def(
      "forward",
      [](L& self, const TensorHandle& input) -> nanobind::object {
        if (!self.options().return_indices) return nanobind::cast(self.L::forward(input));
        const auto results = [&] {
          if constexpr (requires { self.with_indices(input); }) return self.with_indices(input);
          else return self.options().with_indices(input);
        }();
        return nanobind::make_tuple(nanobind::cast(results[0]), nanobind::cast(results[1]));
      },
      nanobind::arg("input"));
}

// A module class: collector, attributes, calls, copies. Its constructor is the caller's.
template <class M, class Parent = nn::Module>
nanobind::class_<M, Parent> bind_module_class(nanobind::module_& m, const char* name, const char* doc) {
  nanobind::class_<M, Parent> c(
      m, name, nanobind::type_slots(module_slots()), nanobind::dynamic_attr(), nanobind::is_weak_referenceable(), doc);
  c.attr("__module__") = "pyburn.nn";
  add_unfilled_maker(c, make_unfilled<M>);
  return c;
}

// A layer: its constructor takes the fields of its Config, in their order or in that of `arguments`. `doc` says what it does and ends
// in an example. A forward of one tensor is bound here; others by bind_forward. A layer that derives from another has the other's.
template <class L, class Parent = nn::Module>
nanobind::class_<L, Parent> bind_layer(nanobind::module_& m, const char* doc, const char* arguments = nullptr) {
  using Config = typename L::Config;
  constexpr bool placed = std::is_constructible_v<L, Config, nn::Placement>;
  static const LayerClass info{L(Config(), nn::Unfilled{}).type_name(), &attr_type<Config>, Config::text, placed, arguments};
  static const std::string text = info.documented(doc);
  auto c = bind_module_class<L, Parent>(m, info.name.c_str(), text.c_str());
  c.attr("_option_types") = info.option_types();
  c.def("__init__", [](L* self, nanobind::args args, nanobind::kwargs kwargs) {
    Config config;
    nanobind::object table = nanobind::none(), frozen = nanobind::none();
    if constexpr (requires { &L::start_from; }) {
      table = kwargs.attr("pop")("_weight", nanobind::none());
      frozen = kwargs.attr("pop")("_freeze", false);
    }
    const nn::Placement placement = info.read(&config, args, kwargs);
    if constexpr (placed) new (self) L(std::move(config), placement);
    else new (self) L(std::move(config));
    if constexpr (requires { &L::start_from; })
      if (!table.is_none() || nanobind::bool_(frozen)) {
        self->start_from(table.is_none() ? TensorHandle() : nanobind::cast<TensorHandle>(table), bool(nanobind::bool_(frozen)));
      }
    announce_registrations(*self);
  });
  if constexpr (!std::is_same_v<Parent, nn::Module>) return c;
  else if constexpr (requires(L & l) { l.options().return_indices; }) bind_pool(c);
  else if constexpr (
      !requires { typename L::Function; } && requires { static_cast<TensorHandle (L::*)(const TensorHandle&)>(&L::forward); })
    bind_forward<L, TensorHandle, const TensorHandle&>(c, &L::forward, nanobind::arg("input"));
  if constexpr (requires(L & l) { l.reset_parameters(); })
    c.def(
        "reset_parameters", [](L& self) { self.reset_parameters(); }, "Starts over with fresh values.");
  return c;
}

// A layer of several tensors, with their names.
template <class L, class... Names>
nanobind::class_<L, nn::Module> bind_layer_of(nanobind::module_& m, const char* doc, const char* arguments, const Names&... names) {
  auto c = bind_layer<L>(m, doc, arguments);
  bind_function(c, std::type_identity<typename L::Function>(), names...);
  return c;
}

}  // namespace pyburn::python
