#include "layer_class.h"

#include <nanobind/stl/string.h>

#include <vector>

#include "option_docs.h"
#include "pyburn/ir/operation.h"
#include "pyburn/support/error.h"

namespace nb = nanobind;

namespace pyburn::python {
namespace {

std::string quoted(const std::vector<std::string>& names) {
  std::string text;
  for (size_t i = 0; i < names.size(); ++i)
    text += (i == 0 ? "'" : i + 1 < names.size() ? ", '" : names.size() == 2 ? " and '" : ", and '") + names[i] + "'";
  return text;
}

}  // namespace

LayerClass::LayerClass(std::string name, const AttrType& config, nn::LayerText text, bool placed, const char* arguments)
    : name_(std::move(name)), config_(config), text_(text), placed_(placed), translated_(arguments) {
  std::vector<nb::str> keywords;
  const auto add = [&](nb::str key) { (nn::lists(text.keyword_only, key.c_str()) ? keywords : parameters_).push_back(std::move(key)); };
  const auto word = [](std::string_view s) { return nb::steal<nb::str>(PyUnicode_InternFromString(std::string(s).c_str())); };
  if (arguments)
    for (std::string_view rest = arguments; !rest.empty();) add(word(detail::next_name(rest)));
  else
    for (auto [key, value] : defaults()) add(word(nb::cast<std::string>(key)));
  if (placed)
    for (const char* key : {"device", "dtype"}) parameters_.push_back(word(key));
  positional_ = parameters_.size();
  parameters_.insert(parameters_.end(), keywords.begin(), keywords.end());
}

nb::dict LayerClass::defaults() const {
  const Ref<AttrBox> fresh = AttrBox::fresh(config_);
  return fields_to_dict(config_, fresh->get());
}

// The options that the layer wants to be bools or ints, as their defaults are; and those of which only the truth counts.
void LayerClass::check_types(nb::dict& given) const {
  if (!*text_.typed && !*text_.truths) return;
  for (auto [key, standard] : defaults()) {
    const std::string name = nb::cast<std::string>(key);
    if (!given.contains(key)) continue;
    if (nn::lists(text_.truths, name)) given[key] = nb::bool_(nb::object(given[key]));
    if (!nn::lists(text_.typed, name)) continue;
    const bool flag = PyBool_Check(standard.ptr());
    const nb::handle value = given[key];
    if (flag ? !PyBool_Check(value.ptr()) : !PyLong_Check(value.ptr()))
      type_error(name + " should be of type " + (flag ? "bool" : "int") + ", got: " + Py_TYPE(value.ptr())->tp_name);
  }
}

nn::Placement LayerClass::read(void* options, nb::args args, nb::kwargs kwargs) const {
  const auto function = [&] { return short_name() + ".__init__()"; };
  if (args.size() > positional_)
    type_error(function() + " takes at most " + std::to_string(positional_ + 1) + " positional arguments but " +
               std::to_string(args.size() + 1) + " were given");
  nb::dict given;
  for (size_t i = 0; i < args.size(); ++i) given[parameters_[i]] = args[i];
  for (auto [key, value] : kwargs) {
    const std::string word = nb::cast<std::string>(key);
    if (std::none_of(parameters_.begin(), parameters_.end(), [&](const nb::str& known) { return word == known.c_str(); })) {
      require<ValueError>(!std::string_view(text_.refused).starts_with(word + " "), "{}", text_.refused);
      type_error(function() + " got an unexpected keyword argument '" + word + "'");
    }
    if (given.contains(key)) type_error(function() + " got multiple values for argument '" + word + "'");
    given[key] = value;
  }
  std::vector<std::string> missing;
  for (int i = 0; i < text_.required; ++i)
    if (!given.contains(parameters_[size_t(i)])) missing.emplace_back(parameters_[size_t(i)].c_str());
  if (!missing.empty())
    type_error(function() + " missing " + std::to_string(missing.size()) + " required positional argument" +
               (missing.size() > 1 ? "s: " : ": ") + quoted(missing));
  check_types(given);
  if (translated_) nb::module_::import_("pyburn.nn.legacy").attr("translate")(given);
  fields_from_dict(config_, options, given);
  nn::Placement p;
  if (!placed_) return p;
  if (given.contains("device") && !nb::handle(given["device"]).is_none()) p.device = &to_device(nb::handle(given["device"]).ptr());
  if (given.contains("dtype") && !nb::handle(given["dtype"]).is_none()) p.dtype = to_dtype(nb::handle(given["dtype"]).ptr());
  return p;
}

std::string LayerClass::documented(const char* doc) const {
  const nb::dict values = defaults();
  std::string signature = short_name() + "(";
  for (size_t i = 0; i < parameters_.size(); ++i) {
    if (i == positional_) signature += i ? ", *" : "*";
    signature += (signature.ends_with('(') ? "" : ", ") + std::string(parameters_[i].c_str());
    if (int(i) < text_.required) continue;
    signature += "=" + (values.contains(parameters_[i]) ? nb::cast<std::string>(nb::repr(values[parameters_[i]])) : std::string("None"));
  }
  const std::string_view text = doc;
  const size_t summary = std::min(text.find("\n\n"), text.size());
  return signature + ")\n--\n\n" + std::string(text.substr(0, summary)) + described_options() + std::string(text.substr(summary));
}

std::string LayerClass::described_options() const {
  const nb::dict values = defaults(), types = option_types();
  std::string lines;
  for (size_t i = 0; i < parameters_.size(); ++i) {
    const std::string_view meaning = option_doc(short_name(), parameters_[i].c_str());
    if (meaning.empty()) continue;
    std::string kind = types.contains(parameters_[i]) ? nb::cast<std::string>(nb::str(types[parameters_[i]])) : "";
    if (int(i) >= text_.required) {
      if (!kind.empty()) kind += ", ";
      kind +=
          "default " + (values.contains(parameters_[i]) ? nb::cast<std::string>(nb::repr(values[parameters_[i]])) : std::string("None"));
    }
    lines += "\n    " + std::string(parameters_[i].c_str()) + " (" + kind + "): " + std::string(meaning);
  }
  return lines.empty() ? "" : "\n\nArgs:" + lines;
}

nb::dict LayerClass::option_types() const {
  const Ref<AttrBox> fresh = AttrBox::fresh(config_);
  return field_types(config_, fresh->get());
}

nb::object unfilled(nb::handle cls, nb::handle config) {
  auto* type = reinterpret_cast<PyTypeObject*>(cls.ptr());
  if (!PyType_Check(cls.ptr()) || !PyType_IsSubtype(type, module_type)) throw nb::type_error("not a class of modules");
  const nb::object self = nb::steal(type->tp_alloc(type, 0));
  if (!self.is_valid()) throw nb::python_error();
  adopt(self.ptr(), native_class(type).make_unfilled(config));
  return self;
}

}  // namespace pyburn::python
