// Pruning: parameters multiplied by masks of zeros and ones. module.tensor(name) becomes the product of the parameter `name`_orig and the
// buffer `name`_mask. What is pruned again is chosen among what is left.
//
//   nn::prune::l1_unstructured(*layer, "weight", 0.3);  // a share of the elements; or 3 of them
#pragma once
#include "pyburn/nn/module.h"

namespace pyburn::nn::prune {

// How much: a share between 0 and 1, or a count.
class Amount {
 public:
  Amount(double share);
  Amount(int64_t count);
  Amount(int count) : Amount(int64_t(count)) {}
  int64_t of(int64_t size) const;  // ValueError for a count of more than there is

 private:
  double share_ = -1;
  int64_t count_ = 0;
};

void identity(Module& module, const std::string& name);  // prepares, and prunes nothing
void random_unstructured(Module& module, const std::string& name, Amount amount);
// The elements that are closest to zero, or have the lowest scores where those are given.
void l1_unstructured(Module& module, const std::string& name, Amount amount, const TensorHandle& importance_scores = {});
void random_structured(Module& module, const std::string& name, Amount amount, int64_t dim);  // slices along an axis
// The slices along an axis whose norm of order n is lowest.
void ln_structured(
    Module& module, const std::string& name, Amount amount, double n, int64_t dim, const TensorHandle& importance_scores = {});
void custom_from_mask(Module& module, const std::string& name, const TensorHandle& mask);
// The elements that are closest to zero among those of several parameters.
void global_l1_unstructured(const std::vector<std::pair<Ref<Module>, std::string>>& parameters, Amount amount);

bool is_pruned(Module& module);  // it, or a module below it
bool is_pruned(const Module& module, std::string_view name);
void remove(Module& module, const std::string& name);  // an ordinary parameter again, with its zeros

}  // namespace pyburn::nn::prune
