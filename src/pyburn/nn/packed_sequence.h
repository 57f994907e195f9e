// Sequences of different lengths in one tensor: padded, or packed step by step. Recurrent layers take packed ones as well.
#pragma once
#include <optional>
#include <vector>

#include "pyburn/ir/op_info.h"

namespace pyburn::nn {

// First the first elements of all sequences, then the second ones of those that have one, ...
struct PackedSequence {
  TensorHandle data;
  Dims batch_sizes;  // how many sequences each step has
  // What sorts the batch by falling length, and what undoes it; undefined for a batch that was sorted.
  TensorHandle sorted_indices, unsorted_indices;
  auto tensors() { return std::tie(data); }  // those that a hook sees
};

struct PaddedSequence {
  TensorHandle output;  // (T, N, ...), or (N, T, ...) where batch_first
  std::vector<int64_t> lengths;
};

// `input` is (T, N, ...), or (N, T, ...) with batch_first. With enforce_sorted the lengths must fall; else the batch is sorted.
PackedSequence pack_padded_sequence(
    const TensorHandle& input, std::vector<int64_t> lengths, bool batch_first = false, bool enforce_sorted = true);
PaddedSequence pad_packed_sequence(
    const PackedSequence& sequence, bool batch_first = false, double padding_value = 0, std::optional<int64_t> total_length = {});

// Tensors (L, ...) of different lengths as one batch, and back. padding_side is "right" or "left".
TensorHandle pad_sequence(
    const Tensors& sequences, bool batch_first = false, double padding_value = 0, const std::string& padding_side = "right");
Tensors unpad_sequence(const TensorHandle& padded, const std::vector<int64_t>& lengths, bool batch_first = false);

PackedSequence pack_sequence(const Tensors& sequences, bool enforce_sorted = true);
Tensors unpack_sequence(const PackedSequence& sequence);

TensorHandle invert_permutation(const TensorHandle& permutation);  // undefined for an undefined one

}  // namespace pyburn::nn
