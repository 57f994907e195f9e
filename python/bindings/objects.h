// Small Python classes for core values: DType, Device, Generator.
#pragma once
#include <nanobind/nanobind.h>

#include "arguments.h"
#include "pyburn/runtime/generator.h"

namespace pyburn::python {

// pyburn.float32 and the other dtypes are the only instances.
struct DTypeObject {
  DType value;
};
nanobind::object dtype_object(DType t);
nanobind::object device_object(Device& d);
Generator* to_generator(PyObject* p);  // null when p is not one

void bind_objects(nanobind::module_& m);  // DType, Device, Generator and their functions
void bind_errors(nanobind::module_& m);   // the exception classes
void bind_autograd(nanobind::module_& m);
void bind_backend(nanobind::module_& m);
void bind_op_table(nanobind::module_& m);
void bind_data(nanobind::module_& m);  // numpy, buffers, lists, devices
void bind_nested_data(nanobind::module_& m);
void bind_dlpack(nanobind::module_& m);
void bind_inference(nanobind::module_& m);
void bind_onnx_export(nanobind::module_& m);  // after bind_inference
void bind_nn(nanobind::module_& m);
void bind_onnx(nanobind::module_& m);  // after bind_nn
void bind_optim(nanobind::module_& m);
void bind_schedule(nanobind::module_& m);  // after bind_optim
void bind_amp(nanobind::module_& m);
void bind_io(nanobind::module_& m);
void bind_checkpoint(nanobind::module_& io);  // PyTorch's files
void bind_store(nanobind::module_& io);       // loading and saving models
void bind_plugins(nanobind::module_& m);      // plugins
void bind_python_operations(nanobind::module_& m);

}  // namespace pyburn::python

namespace nanobind::detail {

// Type caster for tensors in nanobind functions, as handles.
template <class T>
struct tensor_caster {
  NB_TYPE_CASTER(T, const_name("Tensor"))
  bool from_python(handle src, uint8_t flags, cleanup_list*) noexcept {
    if (src.is_none() && (flags & uint8_t(cast_flags::accepts_none))) return true;
    if (!pyburn::python::is_tensor(src.ptr())) return false;
    value = T(pyburn::python::unwrap(src.ptr()));
    return true;
  }
  static handle from_cpp(const T& t, rv_policy, cleanup_list*) noexcept { return pyburn::python::wrap(t); }
};
template <>
struct type_caster<pyburn::TensorHandle> : tensor_caster<pyburn::TensorHandle> {};
template <class T>  // not checked if the class with its methods is unknown
requires std::is_same_v<T, pyburn::Tensor>
struct type_caster<T> : tensor_caster<T> {
};

}  // namespace nanobind::detail
