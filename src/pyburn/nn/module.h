// Module: a node of a model. It owns an ordered registry of parameters, buffers and child modules; all traversals of a model (state dicts,
// training mode, moves between devices) are implemented here.
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

// An entry of a module's registry. Declared but absent parameters, buffers and children are kept as empty entries.
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

// Type-erased options of a layer: the PB_FIELDS of its Config.
struct AnyConfig {
  const AttrType* type;
  void* fields;
  const char* switches = "";  // options that are not attributes, because a parameter has the same name
};

class Module : public Adoptable {
 public:
  explicit Module() = default;
  explicit Module(const Module& other);  // shares the parts; deepcopy() copies them
  Module& operator=(const Module&) = delete;

  // Runs forward() with its hooks, or what the host defines as a call (a Python subclass, Python hooks). Modules with several inputs are
  // called with nn::call (call.h).
  TensorHandle call(const TensorHandle& x) {
    try {
      return detours_ | all_detours ? call_by_detour(x) : forward(x);
    } catch (Error& error) {
      say_where(error);
      throw;
    }
  }
  void say_where(Error& error);  // adds the path from here to the failing module (error_path.h)
  template <class T = Tensor>    // for C++ programs: model(x).sum()
  T operator()(const TensorHandle& x) {
    return call(x);
  }
  virtual TensorHandle forward(const TensorHandle& x);
  virtual std::string type_name() const { return "Module"; }
  virtual std::string extra_repr() const { return {}; }
  virtual AnyConfig config();
  virtual int64_t state_version() const { return 1; }             // version of the layout of its state dict
  virtual bool folds_repeated_children() const { return false; }  // the printed form

  // The registry. Names must be non-empty, without dots and unused; ValueError otherwise. Returns what was registered: the argument unless
  // a hook replaced it.
  TensorHandle register_parameter(std::string name, const TensorHandle& parameter);  // undefined: declared, absent
  TensorHandle register_buffer(std::string name, const TensorHandle& buffer, bool persistent = true);
  template <class M = Module>
  Ref<M> register_module(std::string name, const Ref<M>& module) {
    return Ref<M>(dynamic_cast<M*>(enter({std::move(name), Entry::Kind::module, true, {}, module}).module.get()));
  }
  const std::vector<Entry>& entries() const { return entries_; }
  Entry* find(std::string_view name);
  void erase(std::string_view name);
  void put(Entry entry);  // replaces the entry with that name, or appends
  void clear();
  void set_children(NamedModules children);  // replaces the existing entries
  // A parameter or buffer, or the value that a parametrization or the host computes under that name; ValueError if there is none.
  TensorHandle tensor(std::string_view name) const;

  // Traversals. Each module and tensor is visited once, in order of registration, parents before children.
  NamedModules named_children();
  NamedModules named_modules(const std::string& prefix = "", bool remove_duplicate = true);
  NamedTensors named_parameters(const std::string& prefix = "", bool recurse = true, bool remove_duplicate = true);
  NamedTensors named_buffers(const std::string& prefix = "", bool recurse = true, bool remove_duplicate = true);
  std::vector<TensorHandle> parameters(bool recurse = true);
  std::vector<TensorHandle> buffers(bool recurse = true);
  void apply(const std::function<void(Module&)>& visit);  // children before parents
  // By dotted name; the empty name is this module. ValueError if there is none.
  Ref<Module> get_submodule(std::string_view path);
  void set_submodule(std::string_view path, Ref<Module> module, bool strict = false);  // strict: the module must exist
  TensorHandle get_parameter(std::string_view path) { return get_tensor(path, Entry::Kind::parameter); }
  TensorHandle get_buffer(std::string_view path) { return get_tensor(path, Entry::Kind::buffer); }

  NamedTensors state_dict(const std::string& prefix = "", bool keep_vars = false);
  IncompatibleKeys load_state_dict(const NamedTensors& state, bool strict = true, bool assign = false);
  // The part of this module alone; names in the dict begin with `prefix`, which ends in a dot unless it is empty.
  virtual void save_own(NamedTensors& into, const std::string& prefix, bool keep_vars) const;
  virtual void load_own(StateLoad& load, const NamedTensors& state, const std::string& prefix);
  // Additional state packed into a tensor: "_extra_state" in the state dict. None by default.
  virtual TensorHandle get_extra_state() const { return {}; }
  virtual void set_extra_state(const TensorHandle& state) { (void)state; }

  bool training() const { return training_; }
  void set_training(bool mode) { training_ = mode; }  // of this module alone
  void train(bool mode = true);
  void eval() { train(false); }
  void zero_grad(bool set_to_none = true);
  void requires_grad_(bool requires_grad = true);
  Hooks& hooks();  // registers functions that run around calls, in the backward pass, and when state is saved or loaded
  bool has_call_hooks() const { return (detours_ | all_detours) & kHooks; }
  Tensors call_between_hooks(const Tensors& inputs, const std::function<Tensors(const Tensors&)>& forward);

  // Lazy layers have tensors without a shape until the first call or until something is loaded into them.
  virtual bool is_shapeless(std::string_view name) const { return (void)name, false; }
  virtual void give_shape(std::string_view name, const Shape& shape) { (void)name, (void)shape; }

  void to(Device& device);
  void to(DType dtype);           // floating-point parameters and buffers; DTypeError for other dtypes
  void to_empty(Device& device);  // without their values
  // Replaces the contents of every parameter (and its gradient) and buffer. A parameter stays the same tensor.
  void transform(const std::function<TensorHandle(const TensorHandle&)>& change);
  void transform_own(const std::function<TensorHandle(const TensorHandle&)>& change);  // of this module alone

  // Functions of a host language that replace the C++ implementation for modules that request it.
  struct HostCalls {
    TensorHandle (*call)(Module&, const TensorHandle&) = nullptr;
    void (*train)(Module&, bool mode) = nullptr;
    std::string (*type_name)(const Module&) = nullptr;
    TensorHandle (*tensor)(const Module&, std::string_view name) = nullptr;  // undefined for None; throws if there is none
  };
  static HostCalls host_calls;
  static constexpr uint8_t kHost = 1, kHooks = 2;  // observers of calls
  static uint8_t all_detours;                      // of every module
  void call_host(bool yes) { detours_ = uint8_t(yes ? detours_ | kHost : detours_ & ~kHost); }
  bool calls_host() const { return detours_ & kHost; }
  std::string display_name() const { return calls_host() ? host_calls.type_name(*this) : type_name(); }

 protected:
  // Used by deepcopy(); PB_MODULE defines both.
  friend class Copies;
  virtual Ref<Module> shallow_copy() const;
  virtual void hold_copies(Copies& copies) { (void)copies; }

  // Names that are absent from checkpoints of older versions and may keep their value.
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
  uint8_t detours_ = 0;  // observers of the calls of this module
  bool training_ = true, is_in_train_ = false;
};

// Prints a module as PyTorch does, from its parts.
using ChildTexts = std::vector<std::pair<std::string, std::string>>;
std::string module_text(const std::string& type_name, const std::string& extra, const ChildTexts& children);
ChildTexts repeats_folded(const ChildTexts& children);  // {"0", a}, {"1", a}, {"2", b} -> {"0-1", "2 x a"}, {"2", b}
std::string to_text(Module&);

}  // namespace pyburn::nn
