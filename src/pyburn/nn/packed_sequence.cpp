#include "pyburn/nn/packed_sequence.h"

#include <algorithm>
#include <numeric>

#include "pyburn/ops/generated/fill.h"
#include "pyburn/ops/generated/index.h"
#include "pyburn/ops/generated/join.h"
#include "pyburn/ops/generated/movement.h"
#include "pyburn/ops/generated/sort.h"
#include "pyburn/runtime/transfer.h"
#include "pyburn/support/error.h"

namespace pyburn::nn {
namespace {

TensorHandle index_tensor(std::vector<int64_t> rows, const TensorHandle& like) {
  return from_host(like.device(), {rows.data(), {Shape{int64_t(rows.size())}, DType::int64}});
}

std::vector<int64_t> numbers_of(const TensorHandle& index) {
  std::vector<int64_t> numbers(size_t(index.numel()));
  to_host(index, {numbers.data(), {index.shape(), DType::int64}});
  return numbers;
}

Dims with_first(Dims size, int64_t first) {
  size[0] = first;
  return size;
}

}  // namespace

TensorHandle invert_permutation(const TensorHandle& permutation) { return permutation.defined() ? fn::argsort(permutation) : permutation; }

PackedSequence pack_padded_sequence(const TensorHandle& input, std::vector<int64_t> lengths, bool batch_first, bool enforce_sorted) {
  require<Error>(input.rank() >= 2, "expected a batch of sequences with at least two dimensions: got {}", input.shape());
  require<Error>(input.numel() > 0, "Cannot pack an empty tensor.");
  const TensorHandle steps_first = batch_first ? fn::transpose(input, 0, 1) : input;
  const int64_t steps = steps_first.shape()[0], batch = steps_first.shape()[1];
  require<Error>(int64_t(lengths.size()) == batch, "Expected `len(lengths)` to be equal to batch_size, but got {} (batch_size={})",
      lengths.size(), batch);
  for (int64_t length : lengths) {
    require<Error>(length > 0, "Length of all samples has to be greater than 0, but found an element in 'lengths' that is <= 0");
    require<Error>(length <= steps, "Expected lengths of at most {}, the steps of the batch, but got {}", steps, length);
  }
  std::vector<int64_t> order(lengths.size());
  std::iota(order.begin(), order.end(), 0);
  if (!enforce_sorted) {
    std::stable_sort(order.begin(), order.end(), [&](int64_t a, int64_t b) { return lengths[size_t(a)] > lengths[size_t(b)]; });
    std::sort(lengths.rbegin(), lengths.rend());
  }
  require<Error>(std::is_sorted(lengths.rbegin(), lengths.rend()),
      "`lengths` array must be sorted in decreasing order when `enforce_sorted` is True. You can pass `enforce_sorted=False` to "
      "pack_padded_sequence and/or pack_sequence to sidestep this requirement if you do not need ONNX exportability.");
  PackedSequence packed;
  std::vector<int64_t> rows;
  for (int64_t t = 0; !lengths.empty() && t < lengths[0]; ++t) {
    int64_t alive = 0;
    for (; alive < batch && lengths[size_t(alive)] > t; ++alive) rows.push_back(t * batch + order[size_t(alive)]);
    packed.batch_sizes.push_back(alive);
  }
  packed.data = fn::index_select(fn::flatten(steps_first, 0, 1), 0, index_tensor(rows, input));
  if (!enforce_sorted) {
    packed.sorted_indices = index_tensor(order, input);
    packed.unsorted_indices = invert_permutation(packed.sorted_indices);
  }
  return packed;
}

PaddedSequence pad_packed_sequence(
    const PackedSequence& sequence, bool batch_first, double padding_value, std::optional<int64_t> total_length) {
  const Dims& alive = sequence.batch_sizes;
  const TensorHandle& data = sequence.data;
  require<ValueError>(alive.size() > 0, "Expected batch_sizes of a packed sequence to be non-empty");
  const int64_t longest = int64_t(alive.size()), batch = longest ? alive[0] : 0, steps = total_length.value_or(longest);
  require<ValueError>(steps >= longest,
      "Expected total_length to be at least the length of the longest sequence in input, but got total_length={} and max sequence length "
      "being {}",
      steps, longest);
  int64_t rows_left = data.rank() > 0 ? data.shape()[0] : 0, before = batch;
  for (int64_t count : alive) {
    require<ValueError>(
        count > 0 && count <= before, "batch_sizes of a packed sequence must be positive and not increasing: got {}", alive);
    rows_left -= before = count;
  }
  require<ValueError>(
      rows_left == 0, "the sum of batch_sizes of a packed sequence must equal its rows: got {} for {}", alive, data.shape());
  std::vector<int64_t> columns(size_t(batch), 0);
  std::iota(columns.begin(), columns.end(), 0);
  if (sequence.unsorted_indices.defined()) columns = numbers_of(sequence.unsorted_indices);
  std::vector<int64_t> rows;
  for (int64_t t = 0, start = 0; t < steps; start += t < longest ? alive[int(t)] : 0, ++t)
    for (int64_t column : columns) rows.push_back(t < longest && column < alive[int(t)] ? start + column : data.shape()[0]);
  const TensorHandle padding = fn::full(with_first(data.shape(), 1), padding_value, data.dtype(), &data.device());  // one more row
  Dims size{steps, batch};
  for (int i = 1; i < data.rank(); ++i) size.push_back(data.shape()[i]);
  const TensorHandle padded = fn::reshape(fn::index_select(fn::cat({data, padding}), 0, index_tensor(rows, data)), size);
  PaddedSequence result{batch_first ? fn::transpose(padded, 0, 1) : padded, {}};
  for (int64_t column : columns)
    result.lengths.push_back(std::count_if(alive.begin(), alive.end(), [&](int64_t count) { return count > column; }));
  return result;
}

TensorHandle pad_sequence(const Tensors& sequences, bool batch_first, double padding_value, const std::string& padding_side) {
  const bool right = padding_side == "right";
  require<Error>(right || padding_side == "left", "padding_side should be 'left' or 'right': got '{}'", padding_side);
  require<Error>(!sequences.empty(), "received an empty list of sequences");
  int64_t longest = 0;
  for (const TensorHandle& s : sequences) {
    require<Error>(
        s.defined() && s.rank() > 0, "expected sequences with at least one dimension: got {}", s.defined() ? s.shape() : Shape());
    longest = std::max(longest, s.shape()[0]);
  }
  Tensors padded;
  for (const TensorHandle& s : sequences) {
    const int64_t missing = longest - s.shape()[0];
    if (missing == 0) {
      padded.push_back(s);
      continue;
    }
    const TensorHandle fill = fn::full(with_first(s.shape(), missing), padding_value, s.dtype(), &s.device());
    padded.push_back(right ? fn::cat({s, fill}) : fn::cat({fill, s}));
  }
  return fn::stack(padded, batch_first ? 0 : 1);
}

Tensors unpad_sequence(const TensorHandle& padded, const std::vector<int64_t>& lengths, bool batch_first) {
  const int batch_axis = batch_first ? 0 : 1;
  require(padded.rank() >= 2 && padded.shape()[batch_axis] == int64_t(lengths.size()), "expected a batch of {} sequences: got {}",
      lengths.size(), padded.shape());
  Tensors sequences;
  for (size_t i = 0; i < lengths.size(); ++i) sequences.push_back(fn::slice(fn::select(padded, batch_axis, int64_t(i)), 0, 0, lengths[i]));
  return sequences;
}

PackedSequence pack_sequence(const Tensors& sequences, bool enforce_sorted) {
  std::vector<int64_t> lengths;
  const TensorHandle padded = pad_sequence(sequences);
  for (const TensorHandle& s : sequences) lengths.push_back(s.shape()[0]);
  return pack_padded_sequence(padded, lengths, false, enforce_sorted);
}

Tensors unpack_sequence(const PackedSequence& sequence) {
  const PaddedSequence padded = pad_packed_sequence(sequence, true);
  return unpad_sequence(padded.output, padded.lengths, true);
}

}  // namespace pyburn::nn
