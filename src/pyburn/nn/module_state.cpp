// Module: state dicts, and moves between devices and dtypes.
#include "pyburn/nn/module_state.h"

#include <algorithm>
#include <unordered_map>

#include "pyburn/decorators/autodiff/autograd.h"
#include "pyburn/decorators/autodiff/history.h"
#include "pyburn/nn/hooks.h"
#include "pyburn/ops/copy.h"
#include "pyburn/ops/generated/copy.h"
#include "pyburn/ops/generated/fill.h"
#include "pyburn/ops/generated/movement.h"
#include "pyburn/runtime/transfer.h"
#include "pyburn/support/log.h"

namespace pyburn::nn {
namespace {

constexpr const char* kExtraState = "_extra_state";

bool in_state_dict(const Entry& e) { return e.kind != Entry::Kind::module && e.persistent && e.tensor.defined(); }

// Parameters come before buffers, whichever was registered first.
template <class Entries, class Fn>
void each_saved(Entries& entries, Fn visit) {
  for (Entry::Kind kind : {Entry::Kind::parameter, Entry::Kind::buffer})
    for (auto& e : entries)
      if (e.kind == kind && in_state_dict(e)) visit(e);
}

std::string quoted_list(const std::vector<std::string>& keys) {
  std::string text;
  for (const std::string& k : keys) text += (text.empty() ? "\"" : ", \"") + k + "\"";
  return text;
}

std::string size_text(const Shape& shape) {
  std::string text;
  for (int64_t n : shape) text += (text.empty() ? "" : ", ") + pyburn::to_text(n);
  return "pyburn.Size([" + text + "])";
}

// Puts `source` where the entry's tensor is. Returns why not, or nothing.
std::string load_tensor(Entry& entry, TensorHandle source, const std::string& key, bool assign) {
  if (entry.tensor.rank() == 0 && source.rank() == 1 && source.numel() == 1)  // as checkpoints of long ago have it
    source = fn::select(source, 0, 0);
  const std::string here = size_text(entry.tensor.shape()), there = size_text(source.shape());
  if (!(source.shape() == entry.tensor.shape()))
    return format(
        "size mismatch for {}: copying a param with shape {} from checkpoint, the shape in current model is {}.", key, there, here);
  if (!assign && entry.tensor.storage() && source.storage() && !entry.tensor.storage()->has_values && source.storage()->has_values)
    warn(
        format("for {}: copying from a non-meta parameter in the checkpoint to a meta parameter in the current model, which is a no-op. "
               "(Did you mean to pass `assign=True` to assign items in the state dictionary to their corresponding key in the module "
               "instead of copying them in place?)",
            key));
  try {
    const bool parameter = entry.kind == Entry::Kind::parameter, wanted = entry.tensor.requires_grad();
    if (!assign) copy_into(entry.tensor, moved_to(entry.tensor.device(), source));
    else if (!parameter) entry.tensor = source;
    else if (!source.has(Flag::parameter)) entry.tensor = Parameter(source, wanted);
    else autograd::set_requires_grad(source, wanted), entry.tensor = source;
  } catch (const Error& e) {
    return format(
        "While copying the parameter named \"{}\", whose dimensions in the model are {} and whose dimensions in the checkpoint are {}, "
        "an exception occurred : {}.",
        key, here, there, std::string(e.what()));
  }
  return {};
}

}  // namespace

void Module::save_own(NamedTensors& into, const std::string& prefix, bool keep_vars) const {
  each_saved(entries_, [&](const Entry& e) { into.emplace_back(prefix + e.name, keep_vars ? e.tensor : fn::detach(e.tensor)); });
  if (const TensorHandle extra = get_extra_state(); extra.defined()) into.emplace_back(prefix + kExtraState, extra);
}

void Module::load_own(StateLoad& load, const NamedTensors& state, const std::string& prefix) {
  autograd::NoGrad no_grad;
  const bool is_older = !load.version || *load.version < state_version();
  std::unordered_map<std::string_view, const TensorHandle*> by_key;
  for (const auto& [key, t] : state) by_key.emplace(key, &t);
  std::unordered_map<std::string_view, Entry::Kind> known;
  for (const Entry& e : entries_)
    if (e.kind == Entry::Kind::module || in_state_dict(e)) known.emplace(e.name, e.kind);

  each_saved(entries_, [&](Entry& e) {
    const std::string key = prefix + e.name;
    const auto found = by_key.find(key);
    if (found == by_key.end()) {
      if (!is_older || !may_be_missing(e.name)) load.missing_keys.push_back(key);
    } else if (!found->second->defined()) {
      load.errors.push_back(
          format("While copying the parameter named \"{}\", expected pyburn.Tensor or Tensor-like object from checkpoint but received {}",
              key, load.type_of ? load.type_of(key) : "nothing"));
    } else {
      if (is_shapeless(e.name)) give_shape(e.name, found->second->shape());
      if (std::string why_not = load_tensor(e, *found->second, key, load.assign); !why_not.empty())
        load.errors.push_back(std::move(why_not));
    }
  });
  const std::string extra = prefix + kExtraState;
  const bool is_own = get_extra_state().defined(), wants_extra = is_own || load.has_extra_state;
  const auto found_extra = by_key.find(extra);
  if (wants_extra && found_extra == by_key.end()) load.missing_keys.push_back(extra);
  if (!wants_extra && found_extra != by_key.end()) load.unexpected_keys.push_back(extra);
  if (is_own && found_extra != by_key.end()) {
    if (found_extra->second->defined()) set_extra_state(*found_extra->second);
    else load.errors.push_back(format("expected a tensor for \"{}\": got {}", extra, load.type_of ? load.type_of(extra) : "nothing"));
  }
  for (const auto& [key, t] : state) {
    if (!key.starts_with(prefix) || key == extra) continue;
    const std::string_view rest = std::string_view(key).substr(prefix.size());
    const size_t dot = rest.find('.');
    const auto entry = known.find(rest.substr(0, dot));  // npos: all of it
    const bool is_below = dot != rest.npos;
    if (entry == known.end() || is_below != (entry->second == Entry::Kind::module)) load.unexpected_keys.push_back(key);
  }
}

void StateLoad::raise_errors(const std::string& type_name, bool strict) const {
  std::vector<std::string> all;
  if (strict && !missing_keys.empty()) all.push_back("Missing key(s) in state_dict: " + quoted_list(missing_keys) + ". ");
  if (strict && !unexpected_keys.empty()) all.push_back("Unexpected key(s) in state_dict: " + quoted_list(unexpected_keys) + ". ");
  all.insert(all.end(), errors.begin(), errors.end());
  if (all.empty()) return;
  std::string text = "Error(s) in loading state_dict for " + type_name + ":";
  for (const std::string& e : all) text += "\n\t" + e;
  throw Error(text);
}

// Shared modules and tensors keep all their names. A module below itself (in `above`) would make the walk endless.
void Module::save_below(NamedTensors& into, const std::string& prefix, bool keep_vars, std::vector<const Module*>& above) {
  if (std::find(above.begin(), above.end(), this) != above.end()) return;
  const std::shared_ptr<Hooks> hooks = hooks_;
  if (hooks) hooks->before_save(*this, prefix, keep_vars);
  save_own(into, prefix, keep_vars);
  above.push_back(this);
  for (const auto& [name, child] : named_children()) child->save_below(into, prefix + name + ".", keep_vars, above);
  above.pop_back();
  if (hooks) hooks->after_save(*this, into, prefix);
}

void Module::load_below(StateLoad& load, const NamedTensors& state, const std::string& prefix, std::vector<const Module*>& above) {
  if (std::find(above.begin(), above.end(), this) != above.end()) return;
  NamedTensors part;
  for (const auto& item : state)
    if (item.first.starts_with(prefix)) part.push_back(item);
  const std::shared_ptr<Hooks> hooks = hooks_;
  if (hooks) hooks->before_load(*this, load, part, prefix);
  load_own(load, part, prefix);
  above.push_back(this);
  for (const auto& [name, child] : named_children()) child->load_below(load, part, prefix + name + ".", above);
  above.pop_back();
  if (hooks) hooks->after_load(*this, load);
}

NamedTensors Module::state_dict(const std::string& prefix, bool keep_vars) {
  NamedTensors state;
  std::vector<const Module*> above;
  save_below(state, prefix, keep_vars, above);
  return state;
}

IncompatibleKeys Module::load_state_dict(const NamedTensors& state, bool strict, bool assign) {
  StateLoad load{.assign = assign};
  std::vector<const Module*> above;
  load_below(load, state, "", above);
  load.raise_errors(display_name(), strict);
  return {load.missing_keys, load.unexpected_keys};
}

void Module::transform_own(const std::function<TensorHandle(const TensorHandle&)>& change) {
  autograd::NoGrad no_grad;
  for (size_t i = 0; i < entries_.size(); ++i) {  // by index: `change` may be the host's code
    const TensorHandle tensor = entries_[i].tensor;
    if (!tensor.defined()) continue;
    const TensorHandle changed = change(tensor);
    if (i >= entries_.size()) continue;
    if (entries_[i].kind == Entry::Kind::buffer) {
      entries_[i].tensor = changed;
      continue;
    }
    const TensorHandle gradient = autograd::grad_of(tensor);
    if (gradient.defined()) autograd::set_grad(tensor, {});
    if (!changed.is_same(tensor)) autograd::set_data(tensor, changed);  // the same tensor to everyone who holds it
    if (!gradient.defined()) continue;
    const TensorHandle moved = change(gradient);
    const bool stays = !moved.is_same(gradient) && !autograd::is_view(gradient);
    if (stays) autograd::set_data(gradient, moved);
    autograd::set_grad(tensor, stays ? gradient : moved);
  }
}

void Module::transform(const std::function<TensorHandle(const TensorHandle&)>& change) {
  for (const auto& [name, m] : named_modules()) m->transform_own(change);
}

void Module::to(Device& device) {
  transform([&](const TensorHandle& t) { return moved_to(device, t); });
}

void Module::to_empty(Device& device) {
  transform([&](const TensorHandle& t) { return fn::empty(t.shape(), t.dtype(), &device); });
}

void Module::to(DType dtype) {
  require<DTypeError>(is_floating(dtype), "nn.Module.to only accepts floating point or complex dtypes, but got desired dtype={}", dtype);
  transform([&](const TensorHandle& t) { return is_floating(t.dtype()) && t.dtype() != dtype ? fn::cast(t, dtype) : t; });
}

}  // namespace pyburn::nn
