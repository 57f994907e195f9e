// Module: state dicts, and moves between devices and dtypes.
#include <unordered_map>
#include <unordered_set>

#include "pyburn/decorators/autodiff/autograd.h"
#include "pyburn/nn/module.h"
#include "pyburn/ops/copy.h"
#include "pyburn/ops/generated/copy.h"
#include "pyburn/runtime/transfer.h"

namespace pyburn::nn {
namespace {

bool in_state_dict(const Entry& e) { return e.kind != Entry::Kind::module && e.persistent && e.tensor.defined(); }

std::string quoted_list(const std::vector<std::string>& keys) {
  std::string text;
  for (const std::string& k : keys) text += (text.empty() ? "\"" : ", \"") + k + "\"";
  return text;
}

// Copies what a checkpoint holds into one module's own tensors.
class Loading {
 public:
  Loading(const NamedTensors& state, bool assign) : assign_(assign) {
    for (const auto& [name, t] : state) by_name_.emplace(name, &t);
  }
  bool has(const std::string& key) const { return by_name_.contains(key); }
  void load(const std::string& key, Entry& entry) {
    used_.insert(key);
    const TensorHandle& source = *by_name_.at(key);
    if (!source.defined()) {
      errors.push_back(format("While copying the parameter named \"{}\", expected a Tensor from checkpoint but received nothing", key));
    } else if (!(source.shape() == entry.tensor.shape())) {
      errors.push_back(format("size mismatch for {}: copying a param with shape {} from checkpoint, the shape in current model is {}.", key,
          source.shape(), entry.tensor.shape()));
    } else if (!assign_) {
      copy_into(entry.tensor, moved_to(entry.tensor.device(), source));
    } else if (entry.kind == Entry::Kind::parameter) {
      entry.tensor = source.has(Flag::parameter) ? source : Parameter(source, entry.tensor.requires_grad());
    } else {
      entry.tensor = source;
    }
  }
  std::vector<std::string> unexpected(const NamedTensors& state) const {
    std::vector<std::string> keys;
    for (const auto& [name, t] : state)
      if (!used_.contains(name)) keys.push_back(name);
    return keys;
  }
  std::vector<std::string> errors;

 private:
  std::unordered_map<std::string_view, const TensorHandle*> by_name_;
  std::unordered_set<std::string> used_;
  bool assign_;
};

}  // namespace

NamedTensors Module::state_dict(const std::string& prefix, bool keep_vars) {
  NamedTensors state;
  // Shared tensors keep all their names, so duplicates stay; the prefix ends in a dot already where it is given.
  for (const auto& [name, m] : named_modules("", false))
    for (const Entry& e : m->entries())
      if (in_state_dict(e))
        state.emplace_back(prefix + (name.empty() ? e.name : name + "." + e.name), keep_vars ? e.tensor : fn::detach(e.tensor));
  return state;
}

IncompatibleKeys Module::load_state_dict(const NamedTensors& state, bool strict, bool assign) {
  autograd::NoGrad no_grad;
  Loading loading(state, assign);
  IncompatibleKeys keys;
  for (const auto& [name, m] : named_modules("", false))
    for (Entry& e : m->entries_) {
      if (!in_state_dict(e)) continue;
      const std::string key = name.empty() ? e.name : name + "." + e.name;
      if (loading.has(key)) loading.load(key, e);
      else if (!m->may_be_missing(e.name)) keys.missing_keys.push_back(key);
    }
  keys.unexpected_keys = loading.unexpected(state);
  std::vector<std::string> errors;
  if (strict && !keys.missing_keys.empty()) errors.push_back("Missing key(s) in state_dict: " + quoted_list(keys.missing_keys) + ". ");
  if (strict && !keys.unexpected_keys.empty())
    errors.push_back("Unexpected key(s) in state_dict: " + quoted_list(keys.unexpected_keys) + ". ");
  errors.insert(errors.end(), loading.errors.begin(), loading.errors.end());
  if (!errors.empty()) {
    std::string text = "Error(s) in loading state_dict for " + display_name() + ":";
    for (const std::string& e : errors) text += "\n\t" + e;
    throw Error(text);
  }
  return keys;
}

void Module::transform(const std::function<TensorHandle(const TensorHandle&)>& change) {
  autograd::NoGrad no_grad;
  for (const auto& [name, m] : named_modules())
    for (Entry& e : m->entries_) {
      if (!e.tensor.defined()) continue;
      const TensorHandle changed = change(e.tensor);
      if (changed.is_same(e.tensor)) continue;
      if (e.kind == Entry::Kind::buffer) {
        e.tensor = changed;
        continue;
      }
      const TensorHandle gradient = autograd::grad_of(e.tensor);
      if (gradient.defined()) autograd::set_grad(e.tensor, {});
      autograd::set_data(e.tensor, changed);  // the same tensor to everyone who holds it
      if (gradient.defined()) autograd::set_grad(e.tensor, change(gradient));
    }
}

void Module::to(Device& device) {
  transform([&](const TensorHandle& t) { return moved_to(device, t); });
}

void Module::to(DType dtype) {
  require<DTypeError>(is_floating(dtype), "nn.Module.to only accepts floating point or complex dtypes, but got desired dtype={}", dtype);
  transform([&](const TensorHandle& t) { return is_floating(t.dtype()) && t.dtype() != dtype ? fn::cast(t, dtype) : t; });
}

}  // namespace pyburn::nn
