// Deep copies of modules, with parameters, buffers and modules of their own.
//
//   class Tagger : public nn::Module {
//    public:
//     PB_MODULE(Tagger, embed, head)
//     ...
//     Ref<nn::Embedding> embed;
//     Ref<nn::Linear> head;
//   };
//   const Ref<Tagger> teacher = nn::deepcopy(*student);
#pragma once
#include <optional>
#include <string>
#include <typeinfo>
#include <unordered_map>
#include <vector>

#include "pyburn/support/ref.h"
#include "pyburn/tensor/handle.h"

// In the class of a module: its name, and how it is copied. Members that hold its parts (as Ref<...>, tensors, or vectors and optionals of
// these) are listed, so that those of a deep copy hold parts of the copy.
#define PB_MODULE(Class, ...)                               \
  std::string type_name() const override { return #Class; } \
  PB_COPYABLE(Class __VA_OPT__(, ) __VA_ARGS__)

// The same for a class that tells its name in a way of its own.
#define PB_COPYABLE(Class, ...)                                       \
  ::pyburn::Ref<::pyburn::nn::Module> shallow_copy() const override { \
    ::pyburn::nn::Copies::check_class(*this, typeid(Class));          \
    return ::pyburn::make_ref<Class>(*this);                          \
  }                                                                   \
  __VA_OPT__(void hold_copies(::pyburn::nn::Copies& copies) override { copies.replace(__VA_ARGS__); })

namespace pyburn::nn {

class Module;

// The copies of one deepcopy: what was shared by several is copied once, and the copy is shared in the same way.
class Copies {
 public:
  Ref<Module> of(const Ref<Module>& original);
  // Only of tensors without a history: GradientError.
  TensorHandle of(const TensorHandle& original);

  template <class... Part>
  void replace(Part&... parts) {
    (replace_one(parts), ...);
  }

  // A subclass that does not say how it is copied would lose what it adds: UnsupportedOp.
  static void check_class(const Module& module, const std::type_info& copied);

 private:
  template <class M>
  void replace_one(Ref<M>& part) {
    if (part) part = Ref<M>(static_cast<M*>(of(Ref<Module>(part)).get()));
  }
  void replace_one(TensorHandle& part) { part = of(part); }
  template <class P>
  void replace_one(std::optional<P>& part) {
    if (part) replace_one(*part);
  }
  template <class P>
  void replace_one(std::vector<P>& parts) {
    for (P& part : parts) replace_one(part);
  }

  std::unordered_map<const Module*, Ref<Module>> modules_;
  std::unordered_map<const TensorImpl*, TensorHandle> tensors_;
};

// A copy that shares nothing with the original but functions: hooks are copied as they are. Gradients are copied, too. Nobody else may
// change the original meanwhile.
template <class M>
Ref<M> deepcopy(M& module) {
  return Ref<M>(static_cast<M*>(Copies().of(Ref<Module>(&module)).get()));
}

}  // namespace pyburn::nn
