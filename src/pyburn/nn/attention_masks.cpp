#include "pyburn/nn/attention_masks.h"

#include <algorithm>

#include "pyburn/ops/generated/binary.h"
#include "pyburn/ops/generated/fill.h"
#include "pyburn/ops/generated/movement.h"
#include "pyburn/ops/generated/rearrange.h"
#include "pyburn/runtime/transfer.h"
#include "pyburn/support/error.h"

namespace pyburn::nn {

TensorHandle generate_autoregressive_mask(int64_t batch_size, int64_t length, Device* device) {
  return fn::expand(fn::triu(fn::ones({length, length}, DType::boolean, device), 1), {batch_size, length, length});
}

PaddedTokens generate_padding_mask(
    int64_t pad_token, const std::vector<std::vector<int64_t>>& tokens, std::optional<int64_t> max_length, bool fixed, Device* device) {
  require<ValueError>(max_length || !fixed, "fixed requires max_length");
  require<ValueError>(!max_length || *max_length >= 0, "max_length must not be negative: got {}", max_length.value_or(0));
  int64_t longest = 0;
  for (const auto& line : tokens) longest = std::max(longest, int64_t(line.size()));
  if (max_length) longest = fixed ? *max_length : std::min(longest, *max_length);
  const int64_t lines = int64_t(tokens.size());
  std::vector<int64_t> filled(size_t(lines * longest), pad_token), lengths;
  for (int64_t i = 0; i < lines; ++i) {
    const auto& line = tokens[size_t(i)];
    lengths.push_back(std::min(longest, int64_t(line.size())));
    std::copy_n(line.begin(), lengths.back(), filled.begin() + i * longest);
  }
  Device& home = device ? *device : default_device();
  const TensorHandle ends = from_host(home, {lengths.data(), {Shape{lines, 1}, DType::int64}});
  const TensorHandle places = fn::arange(0, longest, 1, DType::int64, &home);
  return {from_host(home, {filled.data(), {Shape{lines, longest}, DType::int64}}), fn::ge(places, ends)};
}

}  // namespace pyburn::nn
