// Parametrizations: a tensor of a module that is computed from other tensors whenever it is read. These originals are registered below the
// module under PyTorch's names: parametrizations.weight.original.
//
//   nn::parametrize::register_parametrization(*layer, "weight", make_ref<Symmetric>());
#pragma once
#include <optional>

#include "pyburn/ir/op_info.h"
#include "pyburn/nn/module_list.h"

namespace pyburn::nn {

// Computes a tensor from one or several originals. A parametrization of one tensor may be any module; a subclass of this class may take
// several and may define an inverse.
class Parametrization : public Module {
 public:
  virtual TensorHandle compute(const Tensors& originals);  // forward() of the only one, unless overridden
  // Originals that produce `value`, at least approximately; nothing if there is no inverse. Then the tensor cannot be assigned.
  virtual std::optional<Tensors> right_inverse(const TensorHandle& value) { return (void)value, std::nullopt; }
};

// The parametrizations of one tensor, applied in order, and as `original` (or `original0`, ...) the inputs of the first.
class ParametrizationList : public ModuleList {
 public:
  ParametrizationList(Ref<Module> first, const TensorHandle& tensor, bool unsafe);
  void add(Ref<Module> next, bool unsafe);
  TensorHandle value();
  void set_value(const TensorHandle& value);  // sets the originals so that they produce the value
  bool is_tensor() const { return count_ == 0; }
  bool is_unsafe() const { return unsafe_; }
  Tensors originals() const;
  PB_MODULE(ParametrizationList)

 private:
  int count_ = 0;  // number of numbered originals; 0 for a single one
  bool unsafe_;
};

Ref<ParametrizationList> parametrizations_of(const Module& module, std::string_view name);  // null if there are none

namespace parametrize {

// From now on module.tensor(name) is the result of `parametrization`, applied to the current tensor or to the result of previous ones.
// `unsafe` allows it to change shape or dtype. ValueError.
void register_parametrization(Module& module, const std::string& name, Ref<Module> parametrization, bool unsafe = false);
bool is_parametrized(const Module& module);
bool is_parametrized(const Module& module, std::string_view name);
// Assigns a value to a parametrized or ordinary tensor.
void assign(Module& module, const std::string& name, const TensorHandle& value);
// Makes a tensor an ordinary one again, with the current value or, without leave_parametrized, the original one.
void remove_parametrizations(Module& module, const std::string& name, bool leave_parametrized = true);

// Copies the parametrizations of another module's tensor, with their originals. Without a name, copies all of them.
void transfer(Module& from, Module& to, std::optional<std::string> name = {});

// While one of these lives, each parametrized tensor that this thread reads is computed once.
class Cached {
 public:
  Cached();
  ~Cached();
  Cached(const Cached&) = delete;
};

}  // namespace parametrize
}  // namespace pyburn::nn
