// pyburn._core._onnx: models of ONNX files.
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "layer_class.h"
#include "pyburn/inference/onnx_session.h"
#include "pyburn/inference/profile.h"
#include "pyburn/onnx/model.h"
#include "pyburn/onnx/operator.h"
#include "pyburn/onnx/operators/image_decoder.h"
#include "pyburn/runtime/transfer.h"
#include "python_exception.h"
#include "python_files.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace pyburn::python {
namespace {

using onnx::Model;
using onnx::Value;
using onnx::Values;

// Strings as nested lists would lose their shape where it is empty: (shape, list) instead. pyburn.onnx makes arrays of them.
nb::object object_of(const Value& v);

// The keys or the values of a map.
nb::object list_of(const Value& v) {
  return v.is_strings() ? nb::object(object_of(v)[1]) : nb::object(nb::cast(v.tensor()).attr("tolist")());
}
nb::object object_of(const Value& v) {
  switch (v.kind()) {
    case Value::Kind::absent:
    case Value::Kind::none:
      return nb::none();
    case Value::Kind::tensor:
      return nb::cast(v.tensor());
    case Value::Kind::strings: {
      nb::list shape, items;
      for (const int64_t n : v.strings().shape) shape.append(n);
      for (const std::string& s : v.strings().items) items.append(nb::bytes(s.data(), s.size()));
      return nb::make_tuple(nb::tuple(shape), items);
    }
    case Value::Kind::sequence: {
      nb::list items;
      for (const Value& item : v.items()) items.append(object_of(item));
      return items;
    }
    case Value::Kind::map:
      return nb::make_tuple("map", list_of(v.map().keys), list_of(v.map().values));
  }
  return nb::none();
}

// A Tensor, None, a list of values, strings as (shape, list), or a map as ("map", keys, values).
Value value_from(nb::handle object, int depth = 0) {
  if (object.is_none()) return Value::none();
  if (is_tensor(object.ptr())) return Value(unwrap(object.ptr()));
  if (depth < 16 && PyTuple_Check(object.ptr()) && nb::len(object) == 2) {
    std::vector<std::string> texts;
    for (nb::handle item : nb::object(object[1])) {
      const nb::bytes text = nb::cast<nb::bytes>(item);
      texts.emplace_back(text.c_str(), text.size());
    }
    const Shape shape(to_dims(nb::object(object[0]).ptr()));
    require<ValueError>(
        checked_numel(shape) == int64_t(texts.size()), "[onnx] {} strings do not have shape {}", int64_t(texts.size()), shape);
    return Value(make_ref<onnx::Strings>(shape, std::move(texts)));
  }
  if (depth < 16 && PyTuple_Check(object.ptr()) && nb::len(object) == 3) {
    const auto list = [&](nb::handle given) {
      const Value v = value_from(given, depth + 1);
      return v.is_tensor() ? Value::on_host(v.tensor()) : v;
    };
    const Value keys = list(object[1]), values = list(object[2]);
    require<ValueError>(onnx::length_of(keys) == onnx::length_of(values), "[onnx] a map needs a value for each key: got {} and {}",
        onnx::to_text(keys), onnx::to_text(values));
    return Value(make_ref<onnx::Map>(keys, values));
  }
  if (depth < 16 && PyList_Check(object.ptr())) {
    Values items;
    for (nb::handle item : object) items.push_back(value_from(item, depth + 1));
    return Value(make_ref<onnx::Sequence>(std::move(items)));
  }
  throw nb::type_error(
      format("[onnx] an input must be a Tensor, a list of them, strings or None: got {}", Py_TYPE(object.ptr())->tp_name).c_str());
}

template <class M>
nb::list run(M& self, nb::handle inputs) {
  Values given, results;
  for (nb::handle input : inputs) given.push_back(value_from(input));
  {
    const GilRelease released;
    results = self.run(given);
  }
  nb::list list;
  for (const Value& v : results) list.append(object_of(v));
  return list;
}

// What runs for these inputs: the steps of the prepared program, or why there is none.
std::string summary_of(OnnxSession& self, nb::handle inputs) {
  Values given;
  for (nb::handle input : inputs) given.push_back(value_from(input));
  const GilRelease released;
  const std::shared_ptr<Session> session = self.captured(given);
  if (!session) return "Runs the model operation by operation: " + self.why_not(given);
  const Tensors tensors = self.captured_inputs(given);
  return summary(*session, {tensors.data(), size_t(tensors.size())});
}

Profile profile_of(OnnxSession& self, nb::handle inputs, int runs) {
  Values given;
  for (nb::handle input : inputs) given.push_back(value_from(input));
  const GilRelease released;
  const std::shared_ptr<Session> session = self.captured(given);
  require<UnsupportedOp>(
      bool(session), "[Session.profile] the model runs operation by operation, without prepared steps: {}", self.why_not(given));
  const Tensors tensors = self.captured_inputs(given);
  return profile(*session, {tensors.data(), size_t(tensors.size())}, runs);
}

// (name, type as text, element type, extents as numbers and names, or None) of each.
nb::list infos(const std::vector<onnx::ValueInfo>& values) {
  nb::list list;
  for (const onnx::ValueInfo& v : values) {
    nb::object extents = nb::none();
    if (v.type.extents) {
      nb::list sizes;
      for (const onnx::Extent& e : *v.type.extents)
        sizes.append(e.size >= 0 ? nb::object(nb::int_(e.size)) : nb::object(nb::str(e.name.c_str())));
      extents = nb::tuple(sizes);
    }
    const std::string_view element =
        v.type.element_type == onnx::ElementType::undefined ? "" : onnx::element_type_info(int64_t(v.type.element_type)).name;
    list.append(nb::make_tuple(v.name, to_text(v.type), std::string(element), extents));
  }
  return list;
}

nb::dict description(const Model& self) {
  const onnx::ModelDef& def = self.def();
  nb::dict d, opsets, operators, metadata;
  for (const auto& [domain, version] : def.opsets) opsets[domain.empty() ? "ai.onnx" : domain.c_str()] = version;
  for (const auto& [name, count] : self.plan().operators) operators[name.c_str()] = count;
  for (const auto& [key, value] : def.metadata) metadata[key.c_str()] = value;
  d["ir_version"] = def.ir_version;
  d["producer"] = def.producer_version.empty() ? def.producer_name : def.producer_name + " " + def.producer_version;
  d["graph"] = def.graph.name;
  d["opsets"] = opsets;
  d["operators"] = operators;
  d["metadata"] = metadata;
  return d;
}

nb::object load(nb::handle source, nb::handle device, bool in_file) {
  Device& target = device_or_default(device);
  Ref<Model> model;
  if (PyObject_HasAttrString(source.ptr(), "__fspath__") || PyUnicode_Check(source.ptr())) {
    const std::string path = nb::cast<std::string>(nb::module_::import_("os").attr("fspath")(source));
    const GilRelease released;
    model = onnx::load(std::filesystem::path(path), target, in_file ? onnx::Weights::in_file : onnx::Weights::in_memory);
  } else {
    const io::SharedBytes bytes = bytes_to_read(source);
    const GilRelease released;
    model = onnx::load(bytes, target);
  }
  return module_object(model);
}

}  // namespace

void bind_onnx(nb::module_& m) {
  onnx::decode_image = [](std::span<const std::byte> file, const std::string& pixels) {
    const GilAcquire gil;
    return with_python_exceptions([&] {
      const nb::object decode = nb::module_::import_("pyburn.onnx._images").attr("decode");
      const nb::object image = decode(nb::bytes(file.data(), file.size()), pixels);
      return TensorHandle(unwrap(image.ptr()));
    });
  };
  nb::module_ o = m.def_submodule("_onnx");
  bind_module_class<Model>(
      o, "pyburn.onnx.Model", "An ONNX file as a module. Its parameters are the floating-point initializers of the file.")
      .def("_pb_run", run<Model>, "inputs"_a)
      .def_prop_ro("_pb_inputs", [](const Model& self) { return infos(self.inputs()); })
      .def_prop_ro("_pb_outputs", [](const Model& self) { return infos(self.outputs()); })
      .def_prop_ro("_pb_description", description)
      .def("_pb_twin", [](const Model& self) { return module_object(Ref<nn::Module>(self.without_tensors())); })
      .def_prop_ro("_pb_bytes", [](const Model& self) {
        const std::span<const std::byte> file = self.file();
        return nb::bytes(file.data(), file.size());
      });
  wrap_methods(class_of(typeid(Model)));
  nb::class_<OnnxSession>(o, "_Session")
      .def("__init__",
          [](OnnxSession* self, Model& model, bool taken) {
            new (self) OnnxSession(Ref<Model>(&model), taken ? Session::Constants::taken : Session::Constants::copied);
          })
      .def("run", run<OnnxSession>, "inputs"_a)
      .def("summary", summary_of, "inputs"_a)
      .def("profile", profile_of, "inputs"_a, "runs"_a);
  o.def("load", load, "source"_a, "device"_a.none(), "in_file"_a = false);
  o.def("operators", [] {
    nb::list rows;
    for (const onnx::Operator* row : onnx::all_operators())
      rows.append(nb::make_tuple(std::string(row->domain), std::string(row->name), row->since));
    return rows;
  });
  o.def("tensor", [](nb::handle source) {  // of a .pb file
    return object_of(onnx::value_of(onnx::read_tensor(bytes_to_read(source))));
  });
}

}  // namespace pyburn::python
