// Python classes of layers, generated from C++ metadata: constructor, options, documentation, forward.
#pragma once
#include <type_traits>
#include <vector>

#include "module_class.h"
#include "pyburn/nn/layer.h"
#include "python_fields.h"

namespace pyburn::python {

// Properties of a class used by the constructors of all layers.
class LayerClass {
 public:
  // `placed`: creates parameters, so it takes device and dtype. `arguments`: the Python order, if it differs from that of the fields,
  // including names of older versions, which pyburn.nn.legacy translates.
  LayerClass(std::string name, const AttrType& config, nn::LayerText text, bool placed, const char* arguments);
  const char* qualified_name() const { return name_.c_str(); }
  // Parses a call: options by position and name into `options`, the rest into the placement. TypeErrors as in Python.
  nn::Placement read(void* options, nanobind::args args, nanobind::kwargs kwargs) const;
  std::string documented(const char* doc) const;  // with the signature line for help() and inspect.signature()
  nanobind::dict option_types() const;            // argument types for type checkers

 private:
  std::string described_options() const;  // the Args section of the docstring
  std::string short_name() const { return name_.substr(name_.rfind('.') + 1); }
  nanobind::dict defaults() const;
  void check_types(nanobind::dict& given) const;
  std::string name_;
  const AttrType& config_;
  nn::LayerText text_;
  bool placed_, translated_;
  std::vector<nanobind::str> parameters_;  // positional options first, then keyword-only ones
  size_t positional_ = 0;
};

// PyTorch's class between Module and a layer: _ConvNd for Conv2d. Module if there is none.
PyTypeObject* group_of(std::string_view layer);
void bind_layer_groups(nanobind::module_& m);

// Copies and pickles start from an instance with its options and an empty registry.
nanobind::object unfilled(nanobind::handle cls, nanobind::handle config);

template <class M>
Ref<nn::Module> make_unfilled(nanobind::handle config) {
  if constexpr (requires { typename M::Config; }) {
    typename M::Config c;
    if (!config.is_none()) fields_from_dict(attr_type<typename M::Config>, &c, config);
    return make_ref<M>(std::move(c), nn::Unfilled{});
  } else {
    return make_ref<M>();
  }
}

// A class of modules under construction: accepts methods like nanobind's class_.
template <class M>
class ModuleClass : public nanobind::object {
 public:
  explicit ModuleClass(PyTypeObject* type) : nanobind::object(nanobind::borrow(reinterpret_cast<PyObject*>(type))) {}
  PyTypeObject* type() const { return reinterpret_cast<PyTypeObject*>(ptr()); }

  template <class F, class... Extra>
  ModuleClass& def(const char* name, F&& f, const Extra&... extra) {
    nanobind::cpp_function_def<M>(std::forward<F>(f), nanobind::scope(*this), nanobind::name(name), nanobind::is_method(), extra...);
    return *this;
  }
  // __init__ calls a function of its arguments to create the module.
  template <class Made, class... Args, class... Extra>
  ModuleClass& def_init(Ref<Made> (*make)(Args...), const Extra&... extra) {
    return def(
        "__init__",
        [make, type = type()](nanobind::handle self, Args... args) {
          initialise(self.ptr(), type, [&] { return Ref<nn::Module>(make(std::forward<Args>(args)...)); });
        },
        extra...);
  }
  template <class F>
  ModuleClass& def_prop_ro(const char* name, F&& get, const char* doc = nullptr) {
    const nanobind::object getter = nanobind::cpp_function<M>(std::forward<F>(get), nanobind::is_method());
    attr(name) = nanobind::handle(reinterpret_cast<PyObject*>(&PyProperty_Type))(getter, nanobind::none(), nanobind::none(), doc);
    return *this;
  }
  template <class F>
  ModuleClass& def_static(const char* name, F&& f) {
    attr(name) = nanobind::steal(PyStaticMethod_New(nanobind::cpp_function(std::forward<F>(f), nanobind::name(name)).ptr()));
    return *this;
  }
};

// forward() of tensors, without the GIL for large inputs. Optional inputs are written "x"_a.none() = nb::none().
template <class L, class R, class... T, class... Names>
void bind_forward(ModuleClass<L>& c, R (L::*)(T...), const Names&... names) {
  c.def(
      "forward",
      [](L& self, const std::remove_cvref_t<T>&... inputs) {
        constexpr int64_t large = 1 << 14;  // elements
        const ComputesWith released(((inputs.defined() ? inputs.numel() : 0) + ...) >= large, self, inputs...);
        return self.L::forward(inputs...);
      },
      names...);
}

// As above for a forward that is one of several overloads.
template <class L, class R, class... T, class... Names>
void bind_function(ModuleClass<L>& c, std::type_identity<R(T...)>, const Names&... names) {
  bind_forward(c, static_cast<R (L::*)(T...)>(&L::forward), names...);
}

// forward() of a pool that returns indices as well on request.
template <class L>
void bind_pool(ModuleClass<L>& c) {
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

// A class of modules implemented by M. The caller defines the constructor. `name` must live until the process ends.
template <class M>
ModuleClass<M> bind_module_class(nanobind::module_& m, const char* name, const char* doc, PyTypeObject* base = module_type) {
  const NativeClass native = {make_unfilled<M>, [](const nn::Module& module) { return dynamic_cast<const M*>(&module) != nullptr; }};
  ModuleClass<M> c(make_module_class(name, doc, base, &typeid(M), native));
  m.attr(c.type()->tp_name) = c;
  return c;
}

// A layer: its constructor takes the fields of its Config, in their order or in that of `arguments`. `doc` describes it and ends with an
// example. A forward of one tensor is bound here; others by bind_forward. A derived layer inherits its base's forward.
template <class L, class Parent = nn::Module>
ModuleClass<L> bind_layer(nanobind::module_& m, const char* doc, const char* arguments = nullptr) {
  using Config = typename L::Config;
  constexpr bool placed = std::is_constructible_v<L, Config, nn::Placement>;
  constexpr bool derived = !std::is_same_v<Parent, nn::Module>;
  static const std::string name = L(Config(), nn::Unfilled{}).type_name();
  static const LayerClass& info =
      *new LayerClass("pyburn.nn." + name, attr_type<Config>, Config::text, placed, arguments);  // never destroyed: it holds Python objects
  auto c =
      bind_module_class<L>(m, info.qualified_name(), info.documented(doc).c_str(), derived ? class_of(typeid(Parent)) : group_of(name));
  c.attr("_option_types") = info.option_types();
  c.def_init(+[](nanobind::args args, nanobind::kwargs kwargs) {
    Config config;
    nanobind::object table = nanobind::none(), frozen = nanobind::none();
    if constexpr (requires { &L::start_from; }) {
      table = kwargs.attr("pop")("_weight", nanobind::none());
      frozen = kwargs.attr("pop")("_freeze", false);
    }
    const nn::Placement placement = info.read(&config, args, kwargs);
    Ref<L> made;
    if constexpr (placed) made = make_ref<L>(std::move(config), placement);
    else made = make_ref<L>(std::move(config));
    if constexpr (requires { &L::start_from; })
      if (!table.is_none() || nanobind::bool_(frozen))
        made->start_from(table.is_none() ? TensorHandle() : nanobind::cast<TensorHandle>(table), bool(nanobind::bool_(frozen)));
    return made;
  });
  if constexpr (derived) return c;
  else if constexpr (requires(L & l) { l.options().return_indices; }) bind_pool(c);
  else if constexpr (
      !requires { typename L::Function; } && requires { static_cast<TensorHandle (L::*)(const TensorHandle&)>(&L::forward); })
    bind_forward<L, TensorHandle, const TensorHandle&>(c, &L::forward, nanobind::arg("input"));
  if constexpr (requires(L & l) { l.reset_parameters(); })
    c.def(
        "reset_parameters", [](L& self) { self.reset_parameters(); }, "Starts over with fresh values.");
  return c;
}

// A layer with several named tensor inputs.
template <class L, class... Names>
ModuleClass<L> bind_layer_of(nanobind::module_& m, const char* doc, const char* arguments, const Names&... names) {
  auto c = bind_layer<L>(m, doc, arguments);
  bind_function(c, std::type_identity<typename L::Function>(), names...);
  return c;
}

}  // namespace pyburn::python
