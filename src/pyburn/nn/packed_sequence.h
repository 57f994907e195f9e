// Sequences of different lengths in one tensor: padded, or packed step by step. Recurrent layers accept packed ones as well.
#pragma once
#include <optional>
#include <vector>

#include "pyburn/ir/op_info.h"

namespace pyburn::nn {

// The first elements of all sequences, then the second elements of those that have one, ...
struct PackedSequence {
  TensorHandle data;
  Dims batch_sizes;  // number of sequences at each step
  // The permutation that sorts the batch by decreasing length, and its inverse; undefined for a sorted batch.
  TensorHandle sorted_indices, unsorted_indices;
  auto tensors() { return std::tie(data); }  // the tensors passed to hooks
};

struct PaddedSequence {
  TensorHandle output;  // (T, N, ...), or (N, T, ...) if batch_first
  std::vector<int64_t> lengths;
};

// `input` is (T, N, ...), or (N, T, ...) with batch_first. enforce_sorted requires decreasing lengths; else sorts the batch.
PackedSequence pack_padded_sequence(
    const TensorHandle& input, std::vector<int64_t> lengths, bool batch_first = false, bool enforce_sorted = true);
PaddedSequence pad_packed_sequence(
    const PackedSequence& sequence, bool batch_first = false, double padding_value = 0, std::optional<int64_t> total_length = {});

// Pads tensors (L, ...) of different lengths to one batch, and the inverse. padding_side is "right" or "left".
TensorHandle pad_sequence(
    const Tensors& sequences, bool batch_first = false, double padding_value = 0, const std::string& padding_side = "right");
Tensors unpad_sequence(const TensorHandle& padded, const std::vector<int64_t>& lengths, bool batch_first = false);

PackedSequence pack_sequence(const Tensors& sequences, bool enforce_sorted = true);
Tensors unpack_sequence(const PackedSequence& sequence);

TensorHandle invert_permutation(const TensorHandle& permutation);  // undefined for an undefined one

}  // namespace pyburn::nn
