#include "pyburn/nn/parameter_containers.h"

#include "pyburn/support/error.h"

namespace pyburn::nn {
namespace {

Entry entry_of(std::string name, const TensorHandle& value) {
  require<ValueError>(value.defined(), "expected a tensor for '{}'", name);
  return {std::move(name), Entry::Kind::parameter, true, value.has(Flag::parameter) ? value : Parameter(value), {}};
}

// "  (0): Parameter containing: [pyburn.float32 of size 2x3]"
std::string lines_of(const std::vector<Entry>& entries) {
  std::string text;
  for (const Entry& e : entries) {
    std::string size;
    for (int64_t n : e.tensor.shape()) size += (size.empty() ? "" : "x") + pyburn::to_text(n);
    text += (text.empty() ? "" : "\n") +
            format("  ({}): Parameter containing: [pyburn.{} of size {}]", e.name, pyburn::to_text(e.tensor.dtype()), size);
  }
  return text;
}

}  // namespace

std::string ParameterList::key_of(int64_t index) const {
  require<IndexError>(index >= -size() && index < size(), "index {} is out of range", index);
  return pyburn::to_text(index < 0 ? index + size() : index);
}

TensorHandle ParameterList::at(int64_t index) const { return tensor(key_of(index)); }
void ParameterList::set(int64_t index, const TensorHandle& value) { put(entry_of(key_of(index), value)); }
void ParameterList::append(const TensorHandle& value) { put(entry_of(pyburn::to_text(size()), value)); }
void ParameterList::extend(const std::vector<TensorHandle>& values) {
  for (const TensorHandle& value : values) append(value);
}
std::string ParameterList::extra_repr() const { return lines_of(entries()); }

bool ParameterDict::contains(std::string_view key) const {
  for (const Entry& e : entries())
    if (e.name == key) return true;
  return false;
}

std::vector<std::string> ParameterDict::keys() const {
  std::vector<std::string> names;
  for (const Entry& e : entries()) names.push_back(e.name);
  return names;
}

TensorHandle ParameterDict::at(std::string_view key) const {
  require<IndexError>(contains(key), "no such parameter: '{}'", key);
  return tensor(key);
}

void ParameterDict::set(const std::string& key, const TensorHandle& value) {
  Entry entry = entry_of(key, value);
  if (contains(key)) put(std::move(entry));
  else register_parameter(key, entry.tensor);
}

void ParameterDict::update(const NamedTensors& values) {
  for (const auto& [key, value] : values) set(key, value);
}

TensorHandle ParameterDict::pop(std::string_view key) {
  const TensorHandle taken = at(key);
  erase(key);
  return taken;
}
std::string ParameterDict::extra_repr() const { return lines_of(entries()); }

}  // namespace pyburn::nn
