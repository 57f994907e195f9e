// What the bindings of module classes share.
#pragma once
#include <utility>
#include <vector>

#include "module_class.h"
#include "pyburn/nn/layer.h"
#include "python_fields.h"

namespace pyburn::python {

// Makes an instance of a class with options and nothing registered: copies and pickles start from it.
using MakeUnfilled = void (*)(PyObject* self, nanobind::handle config);
std::vector<std::pair<PyTypeObject*, MakeUnfilled>>& unfilled_makers();

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

// A class of modules: collector, attributes, calls, copies.
template <class M>
nanobind::class_<M, nn::Module> module_class(nanobind::module_& m, const char* name, const char* doc) {
  nanobind::class_<M, nn::Module> c(
      m, name, nanobind::type_slots(module_slots()), nanobind::dynamic_attr(), nanobind::is_weak_referenceable(), doc);
  c.attr("__module__") = "pyburn.nn";
  unfilled_makers().emplace_back(reinterpret_cast<PyTypeObject*>(c.ptr()), make_unfilled<M>);
  return c;
}

void bind_module(nanobind::module_& m);
void bind_containers(nanobind::module_& m);
void bind_initialisers(nanobind::module_& m);  // nn.init and nn.utils

}  // namespace pyburn::python
