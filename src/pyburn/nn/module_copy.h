// Deep copies of modules, with their own parameters, buffers and submodules.
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

// In the class of a module: its name, and its members that refer to parts (Ref<...>, tensors, or vectors and optionals of these). In a deep
// copy, these members refer to parts of the copy.
#define PB_MODULE(Class, ...)                               \
  std::string type_name() const override { return #Class; } \
  PB_COPYABLE(Class __VA_OPT__(, ) __VA_ARGS__)

// As above for a class that defines its name itself.
#define PB_COPYABLE(Class, ...)                                       \
  ::pyburn::Ref<::pyburn::nn::Module> shallow_copy() const override { \
    ::pyburn::nn::Copies::check_class(*this, typeid(Class));          \
    return ::pyburn::make_ref<Class>(*this);                          \
  }                                                                   \
  __VA_OPT__(void hold_copies(::pyburn::nn::Copies& copies) override { copies.replace(__VA_ARGS__); })

namespace pyburn::nn {

class Module;

// The copies made by one deepcopy: shared parts are copied once and shared in the copy.
class Copies {
 public:
  Ref<Module> of(const Ref<Module>& original);
  // Only for tensors without a history; GradientError otherwise.
  TensorHandle of(const TensorHandle& original);

  template <class... Part>
  void replace(Part&... parts) {
    (replace_one(parts), ...);
  }

  // A subclass that does not declare its members would lose them in a copy: UnsupportedOp.
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

// A deep copy, with gradients. It shares only functions, such as hooks, with the original, which must not change meanwhile.
// change the original meanwhile.
template <class M>
Ref<M> deepcopy(M& module) {
  return Ref<M>(static_cast<M*>(Copies().of(Ref<Module>(&module)).get()));
}

}  // namespace pyburn::nn
