// Parametrizations: a tensor of a module that is computed from others whenever it is read. What it is computed from is below the
// module, under the names that PyTorch gives it: parametrizations.weight.original.
//
//   nn::parametrize::register_parametrization(*layer, "weight", make_ref<Symmetric>());
#pragma once
#include <optional>

#include "pyburn/ir/op_info.h"
#include "pyburn/nn/module_list.h"

namespace pyburn::nn {

// Computes a tensor from one or several others. A parametrization of one tensor may be any module; a subclass of this one may take
// several, and may know the way back.
class Parametrization : public Module {
 public:
  virtual TensorHandle compute(const Tensors& originals);  // forward() of the only one, unless it is overridden
  // Originals that give `value`, or come near; nothing where there is no way back. Then the tensor cannot be assigned to.
  virtual std::optional<Tensors> right_inverse(const TensorHandle& value) { return (void)value, std::nullopt; }
};

// The parametrizations of one tensor, one after the other, and as `original` (or `original0`, ...) what the first one takes.
class ParametrizationList : public ModuleList {
 public:
  ParametrizationList(Ref<Module> first, const TensorHandle& tensor, bool unsafe);
  void add(Ref<Module> next, bool unsafe);
  TensorHandle value();
  void set_value(const TensorHandle& value);  // gives the originals values that lead to it
  bool is_tensor() const { return count_ == 0; }
  bool is_unsafe() const { return unsafe_; }
  Tensors originals() const;
  PB_MODULE(ParametrizationList)

 private:
  int count_ = 0;  // of originals with a number; 0 for one without
  bool unsafe_;
};

Ref<ParametrizationList> parametrizations_of(const Module& module, std::string_view name);  // null where there are none

namespace parametrize {

// From now on module.tensor(name) is what `parametrization` makes of the tensor that was there, or of what those before it made.
// `unsafe` allows it to change shape or dtype. ValueError.
void register_parametrization(Module& module, const std::string& name, Ref<Module> parametrization, bool unsafe = false);
bool is_parametrized(const Module& module);
bool is_parametrized(const Module& module, std::string_view name);
// Gives a parametrized tensor, or an ordinary one, another value.
void assign(Module& module, const std::string& name, const TensorHandle& value);
// Makes a tensor an ordinary one again, with the value that it has or, unless leave_parametrized, the original.
void remove_parametrizations(Module& module, const std::string& name, bool leave_parametrized = true);

// Gives a module the parametrizations of another one's tensor, and copies of what they start from. All of them without a name.
void transfer(Module& from, Module& to, std::optional<std::string> name = {});

// While one of these lives, parametrized tensors that this thread reads are computed once each.
class Cached {
 public:
  Cached();
  ~Cached();
  Cached(const Cached&) = delete;
};

}  // namespace parametrize
}  // namespace pyburn::nn
