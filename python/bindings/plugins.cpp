// Operations of other packages, called by their name.
#include <nanobind/stl/string.h>

#include <algorithm>
#include <vector>

#include "objects.h"
#include "pyburn/ir/op_info.h"
#include "pyburn/support/error.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace pyburn::python {
namespace {

// Attributes from keyword arguments. A field that is not given keeps its default.
class KeywordFields final : public FieldEditor {
 public:
  explicit KeywordFields(const nb::dict& values) : values_(values) {}
  void field(std::string_view name, bool& v) override { set(name, v); }
  void field(std::string_view name, int64_t& v) override { set(name, v); }
  void field(std::string_view name, double& v) override { set(name, v); }
  void field(std::string_view name, std::string& v) override { set(name, v); }
  void field(std::string_view name, DType& v) override {
    if (const nb::object value = take(name); value.is_valid()) v = to_dtype(value.ptr());
  }
  void field(std::string_view name, Dims& v) override {
    if (const nb::object value = take(name); value.is_valid()) v = to_dims(value.ptr());
  }
  void field(std::string_view name, Scalar& v) override {
    if (const nb::object value = take(name); value.is_valid() && !to_scalar(value.ptr(), v)) refuse(name, value);
  }
  void field(std::string_view name, std::optional<Scalar>& v) override {
    const nb::object value = take(name);
    if (!value.is_valid()) return;
    Scalar number;
    if (value.is_none()) v.reset();
    else if (to_scalar(value.ptr(), number)) v = number;
    else refuse(name, value);
  }
  void field(std::string_view name, Ref<Graph>&) override {
    if (const nb::object value = take(name); value.is_valid()) refuse(name, value);
  }

  void check_all_taken() const {
    for (auto [name, value] : values_)
      if (std::find(known_.begin(), known_.end(), nb::cast<std::string>(name)) == known_.end())
        fail<ValueError>("has no such attribute: got '{}'", nb::cast<std::string>(name));
  }

 private:
  nb::object take(std::string_view name) {
    known_.emplace_back(name);
    const char* key = known_.back().c_str();
    return values_.contains(key) ? nb::object(values_[key]) : nb::object();
  }
  template <class T>
  void set(std::string_view name, T& v) {
    if (const nb::object value = take(name); value.is_valid() && !nb::try_cast(value, v)) refuse(name, value);
  }
  [[noreturn]] static void refuse(std::string_view name, const nb::object& value) {
    fail<DTypeError>("attribute '{}' has another type: got {}", name, nb::cast<std::string>(nb::repr(value)));
  }

  const nb::dict& values_;
  std::vector<std::string> known_;
};

int count_outputs(std::string_view schema) {
  int count = 0;
  for (size_t at = schema.find("->"); (at = schema.find("Tensor", at + 1)) != schema.npos;) ++count;
  return count;
}

Tensors tensors_of(const nb::list& inputs) {
  Tensors result;
  for (nb::handle t : inputs) {
    require<DTypeError>(t.is_none() || is_tensor(t.ptr()), "expected a Tensor: got {}", Py_TYPE(t.ptr())->tp_name);
    result.push_back(t.is_none() ? TensorHandle() : unwrap(t.ptr()));
  }
  return result;
}

nb::object call_operation(const std::string& name, const nb::list& inputs, const nb::dict& attributes, nb::handle device) {
  const OpInfo* op = OpTable::global().find(name);
  require<ValueError>(op, "[{}] no such operation", name);
  const Ref<AttrBox> attrs = AttrBox::fresh(*op->attrs);
  const Tensors given = naming(*op, [&] {
    KeywordFields fields(attributes);
    op->attrs->edit(attrs->get(), fields);
    fields.check_all_taken();
    return tensors_of(inputs);
  });
  InputList in;
  in.add(given);
  Tensors out(count_outputs(op->schema), {});
  dispatch({op, attrs->get()}, in, {out.data(), size_t(out.size())}, device.is_none() ? nullptr : &to_device(device.ptr()));
  return nb::steal(out.size() == 1 ? wrap(out[0]) : wrap(out));
}

}  // namespace

void bind_plugins(nb::module_& m) {
  m.def("_call_operation", call_operation, "name"_a, "inputs"_a, "attributes"_a, "device"_a = nb::none());
}

}  // namespace pyburn::python
