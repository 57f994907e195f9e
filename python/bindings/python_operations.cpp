// Operations whose rules and kernels are functions of Python. They are rows like any other; see python/pyburn/operations.py.
#include <nanobind/stl/string.h>

#include <algorithm>
#include <map>

#include "objects.h"
#include "pyburn/decorators/autodiff/modes.h"
#include "pyburn/ir/grad_context.h"
#include "pyburn/ir/schema_attributes.h"
#include "pyburn/runtime/device_identity.h"
#include "pyburn/runtime/transfer.h"
#include "pyburn/support/error.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace pyburn::python {
namespace {

struct Argument {
  ParameterType type;
  PyObject* name;
  bool keyword_only;
  int field;  // of the attributes; -1 for tensors
};

// Rows live as long as the process, and with them the functions: graphs and tapes may hold a row that was replaced.
struct PythonRow final : OpInfo {
  explicit PythonRow(std::string text) : schema_text(std::move(text)), type(schema_text) {}

  std::string schema_text, doc_text, reason_text;
  SchemaAttrType type;
  std::vector<Argument> arguments;
  size_t single_tensors = 0;  // arguments that are one tensor each
  PyObject *infer_rule = nullptr, *grad_rule = nullptr, *decompose_rule = nullptr;
  std::map<std::string, PyObject*, std::less<>> kernels;  // by type of device; "" for host memory
};
const PythonRow& row_of(const OpInfo& info) { return static_cast<const PythonRow&>(info); }

// Rules are called on any thread, in the middle of other operations.
struct RuleScope {
  GilAcquire gil;
  RuleScope() { drain_released(); }
};

[[noreturn]] void type_error(const OpInfo& row, const char* rule, const char* expected, PyObject* got) {
  const std::string message =
      format("[{}] {} must return {}: got {}", row.name(), rule, expected, static_cast<const char*>(Py_TYPE(got)->tp_name));
  PyErr_SetString(PyExc_TypeError, message.c_str());
  throw nb::python_error();
}

template <class List>
nb::object tuple_of(const List& values) {
  nb::list list;
  for (const auto& v : values) list.append(v);
  return nb::tuple(list);
}

struct ToPython {
  nb::object operator()(std::monostate) const { return nb::none(); }
  nb::object operator()(bool v) const { return nb::bool_(v); }
  nb::object operator()(int64_t v) const { return nb::int_(v); }
  nb::object operator()(double v) const { return nb::float_(v); }
  nb::object operator()(const std::string& v) const { return nb::str(v.data(), v.size()); }
  nb::object operator()(DType v) const { return dtype_object(v); }
  nb::object operator()(const Dims& v) const { return tuple_of(v); }
  nb::object operator()(const Numbers& v) const { return tuple_of(v); }
  nb::object operator()(const Scalar& v) const {
    if (v.is_floating()) return nb::float_(v.to_double());
    return v.kind() == Scalar::Kind::boolean ? nb::object(nb::bool_(v.to<bool>())) : nb::object(nb::int_(v.to_int()));
  }
};

// Calls a function with the arguments of the operation as its schema declares them.
nb::object call(PyObject* function, OpRef op, Inputs in) {
  const PythonRow& row = row_of(*op.info);
  const std::vector<AttributeValue>& values = op.as<SchemaAttributes>().values;
  nb::list positional;
  nb::dict keywords;
  size_t next = 0;
  for (const Argument& a : row.arguments) {
    nb::object value;
    if (a.type == ParameterType::tensors) {
      nb::list tensors;
      for (size_t last = next + in.size() - row.single_tensors; next < last; ++next) tensors.append(nb::steal(wrap(*in[next])));
      value = tensors;
    } else {
      value = takes_tensors(a.type) ? nb::steal(wrap(*in[next++])) : std::visit(ToPython(), values[size_t(a.field)]);
    }
    if (a.keyword_only) keywords[nb::handle(a.name)] = value;
    else positional.append(value);
  }
  return nb::steal(checked(PyObject_Call(function, nb::tuple(positional).ptr(), keywords.ptr())).release());
}

// A tensor, or a sequence of them.
Tensors tensors_in(nb::handle result, const OpInfo& row, const char* rule, bool absent_allowed = false) {
  Tensors tensors;
  const auto add = [&](nb::handle item) {
    if (absent_allowed && item.is_none()) tensors.push_back({});
    else if (is_tensor(item.ptr())) tensors.push_back(unwrap(item.ptr()));
    else type_error(row, rule, "a Tensor or a tuple of Tensors", item.ptr());
  };
  if (is_tensor(result.ptr()) || (!PyTuple_Check(result.ptr()) && !PyList_Check(result.ptr()))) add(result);
  else
    for (nb::handle item : result) add(item);
  return tensors;
}

// PythonError carries nothing: what reaches other threads and C++ programs must.
template <class Call>
auto keeping_exceptions(Call call) {
  try {
    return call();
  } catch (const PythonError&) {
    throw nb::python_error();
  }
}

TensorHandle without_data(const Meta& m) {
  static Device& meta = device("meta");
  return make_tensor(meta, m.dtype, contiguous_layout(m.shape), meta.backend().allocate(m.dtype, m.shape.numel()));
}

// Inference runs a function on tensors without data.
void infer(OpRef op, Metas in, MetaList& out) {
  const RuleScope scope;
  const LevelScope whole(nullptr);
  const autograd::NoGrad no_grad;
  const PythonRow& row = row_of(*op.info);
  Tensors tensors;
  for (const Argument& a : row.arguments) {
    if (!takes_tensors(a.type)) continue;
    for (size_t n = a.type == ParameterType::tensors ? in.size() - row.single_tensors : 1; n > 0; --n) {
      const Meta& m = in[size_t(tensors.size())];
      const bool absent = a.type == ParameterType::optional_tensor && m == Meta{};  // as rules of C++ see it
      tensors.push_back(absent ? TensorHandle() : without_data(m));
    }
  }
  InputList list;
  list.add(tensors);
  keeping_exceptions([&] {
    for (const TensorHandle& t : tensors_in(call(row.infer_rule, op, list), row, "infer")) out.push_back(t.meta());
  });
}

void infer_like_first(OpRef, Metas in, MetaList& out) { out.push_back(in[0]); }

Tensors decompose(OpRef op, Inputs in) {
  const RuleScope scope;
  return keeping_exceptions([&] { return tensors_in(call(row_of(*op.info).decompose_rule, op, in), *op.info, "decompose"); });
}

std::string type_of_leaf(const Backend& leaf) {
  std::string name = stack_name(leaf);
  name.resize(std::min(name.size(), name.find_first_of(":(")));
  return name == "ndarray" ? "cpu" : name;
}

bool serves(const OpInfo& info, const Backend& leaf) {
  const auto& kernels = row_of(info).kernels;
  return kernels.contains(type_of_leaf(leaf)) || (leaf.capabilities().host_memory && kernels.contains(""));
}

Tensors run_kernel(OpRef op, Inputs in) {
  const auto& kernels = row_of(*op.info).kernels;
  const auto first = std::find_if(in.begin(), in.end(), [](const TensorHandle* t) { return t->defined(); });
  const std::string type = type_of_leaf((first == in.end() ? host_device() : (*first)->device()).leaf());
  auto kernel = kernels.find(type);
  if (kernel == kernels.end()) kernel = kernels.find("");
  require<UnsupportedOp>(kernel != kernels.end(), "has no kernel for {}, and no decomposition", type);
  const RuleScope scope;
  const autograd::NoGrad no_grad;
  return keeping_exceptions([&] { return tensors_in(call(kernel->second, op, in), *op.info, "the kernel"); });
}

// What a gradient rule may read, while it runs.
struct GradView {
  const GradContext* context;
  OpRef op;
  const GradContext& get() const {
    require<GradientError>(context, "a gradient rule has ended: its context can be read no longer");
    return *context;
  }
};

Grads grad(OpRef op, const GradContext& c) {
  const RuleScope scope;
  return keeping_exceptions([&] {
    nb::object view = nb::cast(GradView{&c, op});
    struct Close {
      nb::handle view;
      ~Close() { nb::cast<GradView&>(view).context = nullptr; }
    } close{view};
    nb::list gradients;
    for (int i = 0; i < result_count(op.info->schema); ++i) gradients.append(nb::steal(wrap(c.dy(i))));
    const nb::object result = nb::handle(row_of(*op.info).grad_rule)(view, nb::tuple(gradients));
    return tensors_in(result, *op.info, "grad", true);
  });
}

PyObject* kept(nb::object function) { return function.is_none() ? nullptr : function.release().ptr(); }

// The functions of the operation, by name: itself, and its in-place form.
nb::object register_operation(const std::string& schema, const std::string& doc, bool elementwise, int saves, nb::object no_grad,
    nb::object infer_rule, nb::object grad_rule, nb::object decompose_rule, nb::dict kernels) {
  check_schema(schema);
  require<ValueError>(result_count(schema) > 0, "[{}] expected results with names, (Tensor a, Tensor b): got Tensor[]", name_in(schema));
  auto row = std::make_unique<PythonRow>(schema);
  row->doc_text = doc;
  row->schema = row->schema_text.c_str();
  row->doc = row->doc_text.c_str();
  if (!no_grad.is_none()) row->no_grad = (row->reason_text = nb::cast<std::string>(no_grad)).c_str();
  row->attrs = &row->type;
  row->saves = Saves(saves);
  row->in_place = true;
  SchemaParameters parameters(row->schema_text);
  int field = 0;
  for (SchemaParameter p; parameters.next(p);) {
    if (p.type == ParameterType::optional_device) continue;  // the door knows it
    const bool tensor = takes_tensors(p.type);
    row->single_tensors += tensor && p.type != ParameterType::tensors;
    row->arguments.push_back({p.type, PyUnicode_InternFromString(std::string(p.name).c_str()), p.keyword_only, tensor ? -1 : field++});
  }
  require<ValueError>(
      !elementwise || row->single_tensors > 0, "[{}] expected a Tensor among the arguments of an element-wise operation", row->name());
  row->infer_rule = kept(infer_rule);
  row->grad_rule = kept(grad_rule);
  row->decompose_rule = kept(decompose_rule);
  for (auto [type, kernel] : kernels) row->kernels.emplace(nb::cast<std::string>(type), kept(nb::borrow(kernel)));
  row->infer = row->infer_rule ? infer : elementwise ? infer_like_first : nullptr;
  row->grad = row->grad_rule ? grad : nullptr;
  row->decompose = row->decompose_rule ? decompose : nullptr;
  if (!row->kernels.empty()) row->kernel = run_kernel, row->serves = serves;
  row->kind = elementwise ? Kind::elementwise : row->infer ? Kind::opaque : Kind::dynamic;
  row->cast = elementwise ? Cast::promote : Cast::none;
  OpInfo* added = row.release();  // never freed: functions hold it, even if the table refuses it
  const OpInfo* one = added;
  const nb::object functions = nb::steal(functions_of({&one, 1}));  // before it is in the table: it may refuse the schema
  OpTable::global().set(added);
  return functions;
}

// The functions of the operations of these names, asking other packages for those that are unknown.
nb::object functions_named(nb::list names) {
  std::vector<const OpInfo*> rows;
  for (nb::handle name : names) {
    const auto text = nb::cast<std::string>(name);
    rows.push_back(OpTable::global().discover(text));
    require<ValueError>(rows.back(), "[operation] unknown operation: got '{}'", text);
  }
  return nb::steal(functions_of(rows));
}

// The rows that are forms of a function.
nb::list forms_of(const std::string& function) {
  nb::list names;
  for (const OpInfo* row : OpTable::global().rows())
    if (row->function() == function) names.append(nb::str(row->name().data(), row->name().size()));
  return names;
}

nb::object meta_of(const GradView& v, int i) {
  return nb::make_tuple(tuple_of(v.get().meta(i).shape), dtype_object(v.get().meta(i).dtype));
}

}  // namespace

void bind_python_operations(nb::module_& m) {
  nb::class_<GradView>(m, "_GradView")
      .def_prop_ro("inputs", [](const GradView& v) { return v.get().inputs(); })
      .def("input", [](const GradView& v, int i) { return nb::steal(wrap(v.get().input(i))); })
      .def("output", [](const GradView& v, int i) { return nb::steal(wrap(v.get().output(i))); })
      .def("needs", [](const GradView& v, int i) { return v.get().needs(i); })
      .def("meta", meta_of)
      .def_prop_ro("attributes", [](const GradView& v) {
        nb::dict all;
        const auto& values = v.op.as<SchemaAttributes>();
        for (size_t i = 0; i < values.values.size(); ++i)
          all[nb::str(values.type->fields[i].name.c_str())] = std::visit(ToPython(), values.values[i]);
        return all;
      });
  m.def("_register_operation", register_operation, "schema"_a, "doc"_a, "elementwise"_a, "saves"_a, "no_grad"_a.none(), "infer"_a.none(),
      "grad"_a.none(), "decompose"_a.none(), "kernels"_a);
  m.def("_functions_named", functions_named);
  m.def("_forms_of", forms_of);
  set_operation_discovery([] {
    const GilAcquire gil;
    nb::module_::import_("pyburn.plugins").attr("discover")();
  });
}

}  // namespace pyburn::python
