// Module: a node of a model. It owns an ordered registry of parameters, buffers and child modules, and everything
// that walks a model (state dicts, training mode, moves between devices) is written once, here.
#pragma once
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "pyburn/ir/op_info.h"
#include "pyburn/nn/module_copy.h"
#include "pyburn/nn/parameter.h"
#include "pyburn/support/adoptable.h"
#include "pyburn/support/error.h"

namespace pyburn {
struct AttrType;
class Tensor;
}  // namespace pyburn

namespace pyburn::nn {

class Module;

// One line of a module's registry. A declared but absent parameter, buffer or child is kept as an empty one.
struct Entry {
  enum class Kind : uint8_t { parameter, buffer, module };
  std::string name;
  Kind kind;
  bool persistent = true;  // buffers: part of the state dict
  TensorHandle tensor;
  Ref<Module> module;
};

using NamedTensors = std::vector<std::pair<std::string, TensorHandle>>;
using NamedModules = std::vector<std::pair<std::string, Ref<Module>>>;

struct IncompatibleKeys {
  std::vector<std::string> missing_keys, unexpected_keys;
};
struct StateLoad;  // module_state.h
class Hooks;       // hooks.h

// The options of a layer without their type: what PB_FIELDS of its Config lists.
struct AnyConfig {
  const AttrType* type;
  void* fields;
  const char* switches = "";  // options that are no attributes, because a parameter has their name
};

class Module : public Adoptable {
 public:
  explicit Module() = default;
  explicit Module(const Module& other);  // with the same parts, which are shared; deepcopy() makes one with its own
  Module& operator=(const Module&) = delete;

  // Runs the module: forward(), with its hooks around it, or what the host makes of a call (a Python subclass, hooks of Python).
  // Modules of several tensors are called by nn::call (call.h).
  TensorHandle call(const TensorHandle& x) {
    try {
      return detours_ | all_detours ? call_by_detour(x) : forward(x);
    } catch (Error& error) {
      say_where(error);
      throw;
    }
  }
  void say_where(Error& error);  // adds the path from here to the module that failed (error_path.h)
  template <class T = Tensor>    // for programs: model(x).sum()
  T operator()(const TensorHandle& x) {
    return call(x);
  }
  virtual TensorHandle forward(const TensorHandle& x);
  virtual std::string type_name() const { return "Module"; }
  virtual std::string extra_repr() const { return {}; }
  virtual AnyConfig config();
  virtual int64_t state_version() const { return 1; }             // of the layout of its state dict
  virtual bool folds_repeated_children() const { return false; }  // how it is printed

  // The registry. Names are not empty, contain no dot and are taken once; ValueError otherwise.
  // They return what is registered now, which is what they were given unless a hook says otherwise.
  TensorHandle register_parameter(std::string name, const TensorHandle& parameter);  // undefined: declared, absent
  TensorHandle register_buffer(std::string name, const TensorHandle& buffer, bool persistent = true);
  template <class M = Module>
  Ref<M> register_module(std::string name, const Ref<M>& module) {
    return Ref<M>(dynamic_cast<M*>(enter({std::move(name), Entry::Kind::module, true, {}, module}).module.get()));
  }
  const std::vector<Entry>& entries() const { return entries_; }
  Entry* find(std::string_view name);
  void erase(std::string_view name);
  void put(Entry entry);  // replaces the entry of that name, or appends
  void clear();
  void set_children(NamedModules children);  // in the place of those there are
  // A parameter or buffer, or what a parametrization or the host computes under that name; ValueError when there is none.
  TensorHandle tensor(std::string_view name) const;

  // Walks. Each module and tensor is met once, in order of registration, parents before children.
  NamedModules named_children();
  NamedModules named_modules(const std::string& prefix = "", bool remove_duplicate = true);
  NamedTensors named_parameters(const std::string& prefix = "", bool recurse = true, bool remove_duplicate = true);
  NamedTensors named_buffers(const std::string& prefix = "", bool recurse = true, bool remove_duplicate = true);
  std::vector<TensorHandle> parameters(bool recurse = true);
  std::vector<TensorHandle> buffers(bool recurse = true);
  void apply(const std::function<void(Module&)>& visit);  // children before parents
  // By dotted names; the empty one is this module. ValueError when there is none.
  Ref<Module> get_submodule(std::string_view path);
  void set_submodule(std::string_view path, Ref<Module> module, bool strict = false);  // strict: there must be one already
  TensorHandle get_parameter(std::string_view path) { return get_tensor(path, Entry::Kind::parameter); }
  TensorHandle get_buffer(std::string_view path) { return get_tensor(path, Entry::Kind::buffer); }

  NamedTensors state_dict(const std::string& prefix = "", bool keep_vars = false);
  IncompatibleKeys load_state_dict(const NamedTensors& state, bool strict = true, bool assign = false);
  // The part of this module alone; names in the dict begin with `prefix`, which ends in a dot unless it is empty.
  virtual void save_own(NamedTensors& into, const std::string& prefix, bool keep_vars) const;
  virtual void load_own(StateLoad& load, const NamedTensors& state, const std::string& prefix);
  // State that is neither a parameter nor a buffer, packed into a tensor: "_extra_state" in the state dict. None unless it is defined.
  virtual TensorHandle get_extra_state() const { return {}; }
  virtual void set_extra_state(const TensorHandle& state) { (void)state; }

  bool training() const { return training_; }
  void set_training(bool mode) { training_ = mode; }  // of this module alone
  void train(bool mode = true);
  void eval() { train(false); }
  void zero_grad(bool set_to_none = true);
  void requires_grad_(bool requires_grad = true);
  Hooks& hooks();  // to add functions that run around calls, in the backward pass, and when state is saved or loaded
  bool has_call_hooks() const { return (detours_ | all_detours) & kHooks; }
  Tensors call_between_hooks(const Tensors& inputs, const std::function<Tensors(const Tensors&)>& forward);

  // Lazy layers have tensors without a shape, until they are called or something is loaded into them.
  virtual bool is_shapeless(std::string_view name) const { return (void)name, false; }
  virtual void give_shape(std::string_view name, const Shape& shape) { (void)name, (void)shape; }

  void to(Device& device);
  void to(DType dtype);           // floating parameters and buffers; DTypeError unless floating
  void to_empty(Device& device);  // without their values
  // Gives every parameter (its gradient too) and buffer new contents. A parameter stays the same tensor.
  void transform(const std::function<TensorHandle(const TensorHandle&)>& change);
  void transform_own(const std::function<TensorHandle(const TensorHandle&)>& change);  // of this module alone

  // What a host language does in the place of C++ for modules that ask for it.
  struct HostCalls {
    TensorHandle (*call)(Module&, const TensorHandle&) = nullptr;
    void (*train)(Module&, bool mode) = nullptr;
    std::string (*type_name)(const Module&) = nullptr;
    TensorHandle (*tensor)(const Module&, std::string_view name) = nullptr;  // undefined for None; throws when there is none
  };
  static HostCalls host_calls;
  static constexpr uint8_t kHost = 1, kHooks = 2;  // who wants to see calls
  static uint8_t all_detours;                      // those of every module
  void call_host(bool yes) { detours_ = uint8_t(yes ? detours_ | kHost : detours_ & ~kHost); }
  bool calls_host() const { return detours_ & kHost; }
  std::string display_name() const { return calls_host() ? host_calls.type_name(*this) : type_name(); }

 protected:
  // What deepcopy() asks; PB_MODULE writes both.
  friend class Copies;
  virtual Ref<Module> shallow_copy() const;
  virtual void hold_copies(Copies& copies) { (void)copies; }

  // Names that checkpoints of older versions lack and that may keep their value.
  virtual bool may_be_missing(std::string_view) const { return false; }

 private:
  void check_name(std::string_view name, const char* what) const;
  Entry& enter(Entry entry);
  void replace_parts(Copies& copies);
  TensorHandle call_by_detour(const TensorHandle& x);
  TensorHandle get_tensor(std::string_view path, Entry::Kind kind);
  void save_below(NamedTensors& into, const std::string& prefix, bool keep_vars, std::vector<const Module*>& above);
  void load_below(StateLoad& load, const NamedTensors& state, const std::string& prefix, std::vector<const Module*>& above);
  NamedTensors named_tensors(Entry::Kind kind, const std::string& prefix, bool recurse, bool remove_duplicate);

  std::vector<Entry> entries_;
  std::shared_ptr<Hooks> hooks_;
  uint8_t detours_ = 0;  // who wants to see the calls of this module
  bool training_ = true, is_in_train_ = false;
};

// As PyTorch prints a module, from its parts.
using ChildTexts = std::vector<std::pair<std::string, std::string>>;
std::string module_text(const std::string& type_name, const std::string& extra, const ChildTexts& children);
ChildTexts repeats_folded(const ChildTexts& children);  // {"0", a}, {"1", a}, {"2", b} -> {"0-1", "2 x a"}, {"2", b}
std::string to_text(Module&);

}  // namespace pyburn::nn
