#include "layer_class.h"

#include <nanobind/stl/string.h>

#include <vector>

#include "pyburn/ir/operation.h"
#include "pyburn/support/error.h"

namespace nb = nanobind;

namespace pyburn::python {
namespace {

std::vector<std::pair<PyTypeObject*, MakeUnfilled>>& unfilled_makers() {
  static std::vector<std::pair<PyTypeObject*, MakeUnfilled>> list;
  return list;
}

nb::dict defaults(const LayerClass& layer) {
  const Ref<AttrBox> fresh = AttrBox::fresh(*layer.config);
  return fields_to_dict(*layer.config, fresh->get());
}

// The names of the parameters: those given by position first, then those that only have a name.
struct Names {
  std::vector<std::string> list;
  size_t positional = 0;
};
Names names(const LayerClass& layer) {
  Names n;
  std::vector<std::string> keywords;
  auto add = [&](std::string name) { (nn::lists(layer.text.keyword_only, name) ? keywords : n.list).push_back(std::move(name)); };
  if (layer.arguments)
    for (std::string_view rest = layer.arguments; !rest.empty();) add(std::string(detail::next_name(rest)));
  else
    for (auto [name, value] : defaults(layer)) add(nb::cast<std::string>(name));
  if (layer.placed)
    for (const char* name : {"device", "dtype"}) n.list.emplace_back(name);
  n.positional = n.list.size();
  n.list.insert(n.list.end(), keywords.begin(), keywords.end());
  return n;
}

[[noreturn]] void type_error(const std::string& text) { throw nb::type_error(text.c_str()); }

// The options that the layer wants to be bools or ints, as their defaults are; and those of which only the truth counts.
void check_types(const LayerClass& layer, nb::dict& given) {
  if (!*layer.text.typed && !*layer.text.truths) return;
  for (auto [key, standard] : defaults(layer)) {
    const std::string name = nb::cast<std::string>(key);
    if (!given.contains(key)) continue;
    if (nn::lists(layer.text.truths, name)) given[key] = nb::bool_(nb::object(given[key]));
    if (!nn::lists(layer.text.typed, name)) continue;
    const bool flag = PyBool_Check(standard.ptr());
    const nb::handle value = given[key];
    if (flag ? !PyBool_Check(value.ptr()) : !PyLong_Check(value.ptr()))
      type_error(name + " should be of type " + (flag ? "bool" : "int") + ", got: " + Py_TYPE(value.ptr())->tp_name);
  }
}

std::string quoted(const std::vector<std::string>& names) {
  std::string text;
  for (size_t i = 0; i < names.size(); ++i)
    text += (i == 0 ? "'" : i + 1 < names.size() ? ", '" : names.size() == 2 ? " and '" : ", and '") + names[i] + "'";
  return text;
}

}  // namespace

nn::Placement LayerClass::read(void* options, nb::args args, nb::kwargs kwargs) const {
  const Names known = names(*this);
  const std::string function = name + ".__init__()";
  if (args.size() > known.positional)
    type_error(function + " takes at most " + std::to_string(known.positional + 1) + " positional arguments but " +
               std::to_string(args.size() + 1) + " were given");
  nb::dict given;
  for (size_t i = 0; i < args.size(); ++i) given[known.list[i].c_str()] = args[i];
  for (auto [key, value] : kwargs) {
    const std::string word = nb::cast<std::string>(key);
    if (std::find(known.list.begin(), known.list.end(), word) == known.list.end()) {
      require<ValueError>(!std::string_view(text.refused).starts_with(word + " "), "{}", text.refused);
      type_error(function + " got an unexpected keyword argument '" + word + "'");
    }
    if (given.contains(key)) type_error(function + " got multiple values for argument '" + word + "'");
    given[key] = value;
  }
  std::vector<std::string> missing;
  for (int i = 0; i < text.required; ++i)
    if (!given.contains(known.list[size_t(i)].c_str())) missing.push_back(known.list[size_t(i)]);
  if (!missing.empty())
    type_error(function + " missing " + std::to_string(missing.size()) + " required positional argument" +
               (missing.size() > 1 ? "s: " : ": ") + quoted(missing));
  check_types(*this, given);
  if (arguments) nb::module_::import_("pyburn.nn.legacy").attr("translate")(given);
  fields_from_dict(*config, options, given);
  nn::Placement p;
  if (!placed) return p;
  if (given.contains("device") && !nb::handle(given["device"]).is_none()) p.device = &to_device(nb::handle(given["device"]).ptr());
  if (given.contains("dtype") && !nb::handle(given["dtype"]).is_none()) p.dtype = to_dtype(nb::handle(given["dtype"]).ptr());
  return p;
}

std::string LayerClass::documented(const char* doc) const {
  const Names known = names(*this);
  const nb::dict values = defaults(*this);
  std::string signature = name + "(";
  for (size_t i = 0; i < known.list.size(); ++i) {
    if (i == known.positional) signature += i ? ", *" : "*";
    signature += (signature.ends_with('(') ? "" : ", ") + known.list[i];
    if (int(i) < text.required) continue;
    const char* key = known.list[i].c_str();
    signature += "=" + (values.contains(key) ? nb::cast<std::string>(nb::repr(values[key])) : std::string("None"));
  }
  return signature + ")\n--\n\n" + doc;
}

nb::dict LayerClass::option_types() const {
  const Ref<AttrBox> fresh = AttrBox::fresh(*config);
  return field_types(*config, fresh->get());
}

void add_unfilled_maker(nb::handle cls, MakeUnfilled make) {
  unfilled_makers().emplace_back(reinterpret_cast<PyTypeObject*>(cls.ptr()), make);
}

nb::object unfilled(nb::handle cls, nb::handle config) {
  PyObject* mro = reinterpret_cast<PyTypeObject*>(cls.ptr())->tp_mro;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(mro); ++i)
    for (const auto& [type, make] : unfilled_makers()) {
      if (reinterpret_cast<PyObject*>(type) != PyTuple_GET_ITEM(mro, i)) continue;
      nb::object self = nb::inst_alloc(cls);
      make(self.ptr(), config);
      nb::inst_mark_ready(self);
      adopt(nb::inst_ptr<nn::Module>(self), self.ptr());
      return self;
    }
  throw nb::type_error("not a class of modules");
}

}  // namespace pyburn::python
