// An extension module that takes and returns tensors and modules, with nothing but CPython and pyburn/python.h.
#include "pyburn/pyburn.h"
#include "pyburn/python.h"

using namespace pyburn;

namespace {

// The Euclidean norm of all parameters of a module.
PyObject* parameter_norm(PyObject*, PyObject* argument) {
  return interop::guarded([&] {
    const auto module = interop::unwrap<Ref<nn::Module>>(argument);
    Tensor sum = zeros({});
    for (const TensorHandle& p : module->parameters()) sum = sum + (Tensor(p) * p).sum();
    return interop::wrap(sqrt(sum));
  });
}

// Vectors of length one, along the last dimension. What pyburn's functions refuse is an error as from pyburn itself.
PyObject* unit_vectors(PyObject*, PyObject* argument) {
  return interop::guarded([&] {
    const Tensor x = interop::unwrap<TensorHandle>(argument);
    Tensor result;
    {
      const interop::WithoutGil released;  // other threads of Python run meanwhile
      result = x / sqrt((x * x).sum(Dims{-1}, true));
    }
    return interop::wrap(result);
  });
}

// perceptron(features, hidden, classes, device): a model made in C++, to be trained in Python.
PyObject* perceptron(PyObject*, PyObject* const* arguments, Py_ssize_t count) {
  return interop::guarded([&]() -> PyObject* {
    if (count != 4) {
      PyErr_Format(PyExc_TypeError, "expected features, hidden, classes and device: got %zd arguments", count);
      throw interop::ErrorIsSet();
    }
    const auto integer = [&](int i) {
      const long long value = PyLong_AsLongLong(arguments[i]);
      if (PyErr_Occurred()) throw interop::ErrorIsSet();
      return int64_t(value);
    };
    const nn::Placement placement{.device = interop::unwrap<Device*>(arguments[3])};
    auto model = make_ref<nn::Sequential>();
    model->append(make_ref<nn::Linear>(integer(0), integer(1), true, placement));
    model->append(make_ref<nn::ReLU>());
    model->append(make_ref<nn::Linear>(integer(1), integer(2), true, placement));
    return interop::wrap(model);
  });
}

PyMethodDef functions[] = {{"parameter_norm", parameter_norm, METH_O, "The Euclidean norm of all parameters of a module."},
    {"unit_vectors", unit_vectors, METH_O, "The vectors along the last dimension, divided by their length."},
    {"perceptron", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(perceptron)), METH_FASTCALL,
        "perceptron(features, hidden, classes, device): two linear layers."},
    {nullptr, nullptr, 0, nullptr}};
PyModuleDef definition = {PyModuleDef_HEAD_INIT, "_native", nullptr, -1, functions, nullptr, nullptr, nullptr, nullptr};

}  // namespace

PyMODINIT_FUNC PyInit__native() {
  if (!interop::import_pyburn()) return nullptr;  // ImportError where this was built for another version of pyburn
  return PyModule_Create(&definition);
}
