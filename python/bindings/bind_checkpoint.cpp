// PyTorch's files for Python: values of the core as Python objects, and back.
#include <nanobind/stl/string.h>

#include <unordered_map>

#include "pyburn/io/checkpoint.h"
#include "pyburn/support/error.h"
#include "python_files.h"

namespace nb = nanobind;

namespace pyburn::python {
namespace {

using io::Value;
using K = Value::Kind;

constexpr int kDeepest = 400;  // recursion depth that fits a small stack

nb::object ordered_dict_type() {
  static PyObject* const type = nb::object(nb::module_::import_("collections").attr("OrderedDict")).release().ptr();
  return nb::borrow(type);
}
nb::object counter_type() {
  static PyObject* const type = nb::object(nb::module_::import_("collections").attr("Counter")).release().ptr();
  return nb::borrow(type);
}

// Objects that occur twice in a file are one object again, also those that contain themselves.
class ToPython {
 public:
  nb::object convert(const Value& v) {
    if (const auto it = made_.find(&v); it != made_.end()) return it->second;
    require<FormatError>(++depth_ < kDeepest, "[pytorch] containers are nested too deeply");
    nb::object o = make(v);
    --depth_;
    made_.emplace(&v, o);
    return o;
  }

 private:
  nb::object make(const Value& v) {
    switch (v.kind) {
      case K::none:
        return nb::none();
      case K::boolean:
        return nb::bool_(v.boolean);
      case K::integer:
        return nb::int_(v.integer);
      case K::big_integer:
        return nb::borrow(reinterpret_cast<PyObject*>(&PyLong_Type))
            .attr("from_bytes")(nb::bytes(v.text.data(), v.text.size()), "little", nb::arg("signed") = true);
      case K::real:
        return nb::float_(v.real);
      case K::complex:
        return nb::steal(checked(PyComplex_FromDoubles(v.real, v.imaginary)).release());
      case K::text:
        return nb::str(v.text.data(), v.text.size());
      case K::bytes:
        return nb::bytes(v.text.data(), v.text.size());
      case K::byte_array:
        return nb::bytearray(v.text.data(), v.text.size());
      case K::list:
        return list(v);
      case K::tuple:
        return nb::tuple(items(v));
      case K::size: {
        Dims d;
        for (const Value* item : v.items) d.push_back(item->integer);
        return nb::steal(make_size(d));
      }
      case K::dict:
      case K::ordered_dict:
      case K::counter:
        return dict(v);
      case K::set:
        return nb::borrow(reinterpret_cast<PyObject*>(&PySet_Type))(items(v));
      case K::frozen_set:
        return nb::borrow(reinterpret_cast<PyObject*>(&PyFrozenSet_Type))(items(v));
      case K::tensor:
        return tensor(v);
      case K::dtype:
        return dtype_object(v.dtype);
      case K::device:
        return device(v.text);
      case K::foreign:
        io::refuse_foreign(v);
      default:
        fail<FormatError>("[pytorch] the file contains a {}, which is not a value", name_of(v.kind));
    }
  }
  nb::list items(const Value& v) {
    nb::list l;
    for (const Value* item : v.items) l.append(convert(*item));
    return l;
  }
  nb::object list(const Value& v) {
    nb::list l;
    made_.emplace(&v, l);
    for (const Value* item : v.items) l.append(convert(*item));
    return l;
  }
  nb::object dict(const Value& v) {
    nb::object d = v.kind == K::dict ? nb::dict() : v.kind == K::counter ? counter_type()() : ordered_dict_type()();
    made_.emplace(&v, d);
    for (size_t i = 0; i + 1 < v.items.size(); i += 2) {
      const nb::object key = convert(*v.items[i]), value = convert(*v.items[i + 1]);
      if (PyObject_SetItem(d.ptr(), key.ptr(), value.ptr()) < 0) throw nb::python_error();
    }
    if (v.attributes) nb::object(d.attr("__dict__")).attr("update")(convert(*v.attributes));
    return d;
  }
  static nb::object tensor(const Value& v) {
    if (!v.parameter) return nb::cast(v.tensor);
    return nb::steal(wrap_as(reinterpret_cast<PyTypeObject*>(parameter_type), v.tensor));
  }
  // A device of another framework may have no counterpart here: then its name is what remains.
  static nb::object device(const std::string& name) {
    try {
      return device_object(pyburn::device(name));
    } catch (const DeviceError&) {
      return nb::str(name.c_str());
    }
  }

  std::unordered_map<const Value*, nb::object> made_;
  int depth_ = 0;
};

class FromPython {
 public:
  explicit FromPython(io::Tree& tree) : tree_(tree) {}

  Value* convert(nb::handle o) {
    if (const auto it = made_.find(o.ptr()); it != made_.end()) return it->second;
    require<ValueError>(++depth_ < kDeepest, "[save] containers are nested too deeply");
    Value* v = make(o);
    --depth_;
    kept_.append(o);  // an address means the same object only while that lives
    made_.emplace(o.ptr(), v);
    return v;
  }

 private:
  Value* make(nb::handle o) {
    PyObject* p = o.ptr();
    if (is_tensor(p)) return tree_.tensor(unwrap(p));
    if (p == Py_None) return tree_.none();
    if (PyBool_Check(p)) return tree_.boolean(p == Py_True);
    if (PyLong_Check(p)) return integer(p);
    if (PyFloat_Check(p)) return tree_.real(PyFloat_AS_DOUBLE(p));
    if (PyUnicode_Check(p)) return tree_.text(text_of(o));
    if (PyBytes_Check(p)) return tree_.text({PyBytes_AS_STRING(p), size_t(PyBytes_GET_SIZE(p))}, K::bytes);
    if (PyByteArray_Check(p)) return tree_.text({PyByteArray_AS_STRING(p), size_t(PyByteArray_GET_SIZE(p))}, K::byte_array);
    if (PyComplex_Check(p)) return complex(p);
    if (PyDict_Check(p)) return dict(o);
    if (PyList_Check(p)) return sequence(o, K::list);
    if (PyTuple_Check(p)) return sequence(o, is_size(p) ? K::size : K::tuple);
    if (PySet_Check(p)) return sequence(o, K::set);
    if (nb::isinstance<DTypeObject>(o)) {
      Value* v = tree_.make(K::dtype);
      v->dtype = nb::inst_ptr<DTypeObject>(o)->value;
      return v;
    }
    if (is_device(o)) return tree_.text(nb::cast<std::string>(o.attr("type")), K::device);
    refuse(o);
  }
  [[noreturn]] static void refuse(nb::handle o) {
    const std::string type = nb::cast<std::string>(o.type().attr("__qualname__"));
    const bool model = nb::hasattr(o, "state_dict");
    PyErr_SetString(
        PyExc_TypeError, format("cannot save a {}: files hold tensors, numbers, text, bytes, and dicts, lists, tuples and sets of them{}",
                             type, model ? "; save its state_dict()" : "")
                             .c_str());
    throw PythonError();
  }
  static bool is_size(PyObject* p) { return std::string_view(Py_TYPE(p)->tp_name) == "pyburn.Size"; }
  static bool is_device(nb::handle o) { return o.type().is(device_object(default_device()).type()); }
  Value* integer(PyObject* p) {
    int overflow = 0;
    const long long v = PyLong_AsLongLongAndOverflow(p, &overflow);
    if (overflow == 0) return tree_.integer(v);
    const auto bits = nb::cast<int64_t>(nb::borrow(p).attr("bit_length")());
    const auto bytes = nb::cast<nb::bytes>(nb::borrow(p).attr("to_bytes")(bits / 8 + 1, "little", nb::arg("signed") = true));
    return tree_.text({bytes.c_str(), bytes.size()}, K::big_integer);
  }
  Value* complex(PyObject* p) {
    Value* v = tree_.make(K::complex);
    v->real = PyComplex_RealAsDouble(p), v->imaginary = PyComplex_ImagAsDouble(p);
    return v;
  }
  Value* sequence(nb::handle o, K kind) {
    Value* v = tree_.make(kind);
    if (kind == K::list) made_.emplace(o.ptr(), v);
    for (nb::handle item : o) v->items.push_back(convert(item));
    return v;
  }
  Value* dict(nb::handle o) {
    const bool ordered = nb::isinstance(o, ordered_dict_type());
    Value* v = tree_.make(ordered ? K::ordered_dict : nb::isinstance(o, counter_type()) ? K::counter : K::dict);
    made_.emplace(o.ptr(), v);
    for (auto [key, value] : nb::borrow<nb::dict>(o)) {
      v->items.push_back(convert(key));
      v->items.push_back(convert(value));
    }
    if (ordered && nb::hasattr(o, "__dict__"))
      if (const nb::object attributes = o.attr("__dict__"); nb::len(attributes) > 0) v->attributes = convert(attributes);
    return v;
  }

  io::Tree& tree_;
  std::unordered_map<PyObject*, Value*> made_;
  nb::list kept_;
  int depth_ = 0;
};

// place(storage, location) -> Tensor, device or None; where it is None itself, everything goes to the default device.
TensorHandle placed(nb::handle place, const TensorHandle& storage, const std::string& location) {
  if (place.is_none()) return storage;
  const nb::object result = place(nb::cast(storage), location);
  if (result.is_none()) return storage;
  require<ValueError>(is_tensor(result.ptr()), "[load] map_location must give the storage, on its device or another one, or None");
  const TensorHandle& t = unwrap(result.ptr());
  require<ValueError>(
      t.meta() == storage.meta() && t.layout().is_contiguous(), "[load] map_location must give all elements of the storage");
  return t;
}

}  // namespace

void bind_checkpoint(nb::module_& io) {
  io.def(
      "load_checkpoint",
      [](nb::handle source, nb::handle place, bool mmap) {
        io::Checkpoint file(bytes_to_read(source), {mmap, true, ""});
        file.load([&](const TensorHandle& storage, const std::string& location) { return placed(place, storage, location); });
        return ToPython().convert(file.root());
      },
      nb::arg("source"), nb::arg("place").none(), nb::arg("mmap"));
  io.def(
      "save_checkpoint",
      [](nb::handle value, nb::handle target) {
        io::Tree tree;
        tree.root = FromPython(tree).convert(value);
        write_to(target, [&](io::ByteSink& sink) { io::write_checkpoint(*tree.root, sink); });
      },
      nb::arg("value").none(), nb::arg("target"));
}

}  // namespace pyburn::python
