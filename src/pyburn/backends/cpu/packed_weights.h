// Packed weights as data: a file keeps them beside the weights, so that a program that reads it need not pack.
#pragma once
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "pyburn/tensor/handle.h"

namespace pyburn::cpu {

struct PackedWeights {
  Dims key;                           // which kernel they were packed for
  Layout layout;                      // of the tensor as the kernel saw it
  std::span<const std::byte> bytes;   // aligned to 64
  std::shared_ptr<const void> owner;  // of the bytes
};

// Those that are kept for the elements of x, the newest first.
std::vector<PackedWeights> packed_weights_of(const TensorHandle& x);

// The reverse: kernels that ask for this key, layout and size use them instead of packing x. They are only read; any contents are safe.
// Ignored for tensors outside CPU memory.
void adopt_packed_weights(const TensorHandle& x, const PackedWeights& packed);

// Names the form in which this process packs weights: it depends on the instruction set and on the kernels. Packed weights of another form
// are of no use here.
const std::string& packed_form();

}  // namespace pyburn::cpu
