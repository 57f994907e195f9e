#include "python_fields.h"

#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>

#include "objects.h"

namespace nb = nanobind;

namespace pyburn::python {
namespace {

nb::object number(const Scalar& s) {
  if (s.is_floating()) return nb::float_(s.to_double());
  if (s.kind() == Scalar::Kind::boolean) return nb::bool_(s.to<bool>());
  return nb::int_(s.to_int());
}

// Fields as objects of Python: all of them in a dict, or the one that is wanted.
class ToObjects final : public FieldVisitor {
 public:
  explicit ToObjects(std::string_view wanted = {}) : wanted_(wanted) {
    if (wanted.empty()) result = nb::dict();
  }
  void field(std::string_view name, bool v) override {
    put(name, [&] { return nb::bool_(v); });
  }
  void field(std::string_view name, int64_t v) override {
    put(name, [&] { return nb::int_(v); });
  }
  void field(std::string_view name, double v) override {
    put(name, [&] { return nb::float_(v); });
  }
  void field(std::string_view name, const std::string& v) override {
    put(name, [&] { return nb::cast(v); });
  }
  void field(std::string_view name, DType v) override {
    put(name, [&] { return dtype_object(v); });
  }
  void field(std::string_view name, const Dims& v) override {
    put(name, [&] { return v.empty() ? nb::object(nb::none()) : nb::tuple(listed(v, [](int64_t n) { return nb::object(nb::int_(n)); })); });
  }
  void field(std::string_view name, const Scalar& v) override {
    put(name, [&] { return number(v); });
  }
  void field(std::string_view name, const std::optional<Scalar>& v) override {
    put(name, [&] { return v ? number(*v) : nb::none(); });
  }
  void field(std::string_view, const Ref<Graph>&) override {}  // options of layers and optimisers hold no graphs
  void field(std::string_view name, const Sizes& v) override {
    put_list(name, v, [](int64_t n) { return n == Sizes::left_open ? nb::object(nb::none()) : nb::object(nb::int_(n)); });
  }
  void field(std::string_view name, const SizesOrRule& v) override { FieldVisitor::field(name, v); }
  void field(std::string_view name, const Numbers& v) override {
    put_list(name, v, [](double n) { return nb::object(nb::float_(n)); });
  }
  void field(std::string_view name, const TensorHandle& v) override {
    put(name, [&] { return v.defined() ? nb::cast(v) : nb::none(); });
  }
  void optional(std::string_view name, bool given) override {
    if (!given) put(name, [] { return nb::none(); });
  }

  nb::object result;  // the dict, or the requested field; null if there is none of that name

 private:
  template <class Make>
  void put(std::string_view name, Make make) {
    if (wanted_.empty()) result[nb::cast(name)] = make();
    else if (name == wanted_) result = make();
  }
  static nb::list listed(const auto& values, auto object) {
    nb::list items;
    for (auto n : values) items.append(object(n));
    return items;
  }
  // None, one number, or a tuple of them.
  void put_list(std::string_view name, const auto& values, auto object) {
    put(name, [&] {
      if (values.empty()) return nb::object(nb::none());
      const nb::list items = listed(values, object);
      return values.size() == 1 ? nb::object(items[0]) : nb::tuple(items);
    });
  }
  std::string_view wanted_;
};

class TypeNames final : public FieldVisitor {
 public:
  void field(std::string_view name, bool) override { put(name, "bool"); }
  void field(std::string_view name, int64_t) override { put(name, "int"); }
  void field(std::string_view name, double) override { put(name, "float"); }
  void field(std::string_view name, const std::string&) override { put(name, "str"); }
  void field(std::string_view name, DType) override { put(name, "DType"); }
  void field(std::string_view name, const Dims&) override { put(name, "int | Sequence[int]"); }
  void field(std::string_view name, const Scalar&) override { put(name, "float"); }
  void field(std::string_view name, const std::optional<Scalar>&) override { put(name, "float | None"); }
  void field(std::string_view, const Ref<Graph>&) override {}
  void field(std::string_view name, const Sizes& v) override {
    put(name, v.empty() ? "int | Sequence[int | None]" : "int | Sequence[int]");
  }
  void field(std::string_view name, const SizesOrRule&) override { put(name, "int | Sequence[int] | str"); }
  void field(std::string_view name, const Numbers&) override { put(name, "float | Sequence[float]"); }
  void field(std::string_view name, const TensorHandle&) override { put(name, "Tensor"); }

  nb::dict dict;

 private:
  void put(std::string_view name, const char* type) { dict[nb::cast(name)] = nb::str(type); }
};

class FromDict final : public FieldEditor {
 public:
  explicit FromDict(nb::handle dict) : dict_(dict) {}
  // PyTorch asks a flag only whether it is true, and models say bias=None or bidirectional=1.
  void field(std::string_view name, bool& v) override {
    const nb::object o = get(name);
    if (!o.is_valid()) return;
    if (o.is_none()) v = false;
    else if (PyLong_Check(o.ptr())) v = PyObject_IsTrue(o.ptr()) == 1;
    else take(name, v);
  }
  void field(std::string_view name, int64_t& v) override { take(name, v); }
  void field(std::string_view name, double& v) override {
    if (const nb::object o = get(name); o.is_valid()) v = PyFloat_AsDouble(o.ptr());
    if (PyErr_Occurred()) throw nb::python_error();
  }
  void field(std::string_view name, std::string& v) override { take(name, v); }
  void field(std::string_view name, DType& v) override {
    if (const nb::object o = get(name); o.is_valid()) v = to_dtype(o.ptr());
  }
  void field(std::string_view name, Dims& v) override {
    if (const nb::object o = get(name); o.is_valid()) v = o.is_none() ? Dims() : to_dims(o.ptr());
  }
  void field(std::string_view name, Scalar& v) override {
    if (const nb::object o = get(name); o.is_valid()) read(o, name, v);
  }
  void field(std::string_view name, std::optional<Scalar>& v) override {
    const nb::object o = get(name);
    if (!o.is_valid()) return;
    if (o.is_none()) v.reset();
    else read(o, name, v.emplace());
  }
  void field(std::string_view, Ref<Graph>&) override {}
  void field(std::string_view name, Sizes& v) override {
    read_list(name, v, [](nb::handle o) { return o.is_none() ? Sizes::left_open : to_dims(o.ptr())[0]; });
  }
  void field(std::string_view name, SizesOrRule& v) override {
    const nb::object o = get(name);
    if (!o.is_valid()) return;
    v = {};
    if (nb::isinstance<nb::str>(o)) v.rule = nb::cast<std::string>(o);
    else v.sizes = to_dims(o.ptr());
  }
  void field(std::string_view name, Numbers& v) override {
    read_list(name, v, [name](nb::handle o) {
      Scalar number;
      read(o, name, number);
      return number.to_double();
    });
  }
  void field(std::string_view name, TensorHandle& v) override {
    const nb::object o = get(name);
    if (!o.is_valid()) return;
    if (!o.is_none() && !is_tensor(o.ptr())) refuse(name, "a Tensor or None", o);
    v = o.is_none() ? TensorHandle() : unwrap(o.ptr());
  }
  bool optional(std::string_view name, bool given) override {
    const nb::object o = get(name);
    return o.is_valid() ? !o.is_none() : given;
  }

 private:
  // Null where the dict has no such key.
  nb::object get(std::string_view name) const {
    const nb::object key = nb::cast(name);
    PyObject* found = PyDict_GetItemWithError(dict_.ptr(), key.ptr());
    if (!found && PyErr_Occurred()) throw nb::python_error();
    return nb::borrow(found);
  }
  template <class T>
  void take(std::string_view name, T& v) const {
    const nb::object o = get(name);
    if (o.is_valid() && !nb::try_cast<T>(o, v)) refuse(name, type_words<T>(), o);
  }
  // None, one item, or a sequence of them.
  template <class List>
  void read_list(std::string_view name, List& v, auto item) const {
    const nb::object o = get(name);
    if (!o.is_valid()) return;
    v = List();
    if (o.is_none()) return;
    if (!PySequence_Check(o.ptr())) return v.push_back(item(o));
    for (nb::handle i : o) v.push_back(item(i));
  }
  template <class T>
  static const char* type_words() {
    if (std::is_same_v<T, bool>) return "a bool";
    if (std::is_integral_v<T>) return "an int";
    if (std::is_floating_point_v<T>) return "a number";
    return "a str";
  }
  [[noreturn]] static void refuse(std::string_view name, std::string_view expected, nb::handle value) {
    const std::string got = nb::cast<std::string>(nb::repr(value));
    throw nb::type_error((std::string(name) + " must be " + std::string(expected) + ": got " + got).c_str());
  }
  static void read(nb::handle o, std::string_view name, Scalar& v) {
    if (to_scalar(o.ptr(), v)) return;
    throw nb::type_error((std::string(name) + " must be a float or int, got: " + nb::cast<std::string>(nb::str(o.type()))).c_str());
  }
  nb::handle dict_;
};

}  // namespace

nb::dict fields_to_dict(const AttrType& type, const void* fields) {
  ToObjects visitor;
  type.visit(fields, visitor);
  return nb::borrow<nb::dict>(visitor.result);
}

nb::object field_object(const AttrType& type, const void* fields, std::string_view name) {
  if (name.empty()) return {};
  ToObjects visitor(name);
  type.visit(fields, visitor);
  return visitor.result;
}

nb::dict field_types(const AttrType& type, const void* fields) {
  TypeNames visitor;
  type.visit(fields, visitor);
  return visitor.dict;
}

void fields_from_dict(const AttrType& type, void* fields, nb::handle dict) {
  FromDict editor(dict);
  type.edit(fields, editor);
}

}  // namespace pyburn::python
