// Masks for attention, true where nothing is to be seen; after Burn.
#pragma once
#include <optional>
#include <vector>

#include "pyburn/tensor/handle.h"

namespace pyburn::nn {

// (batch_size, length, length), true where a token would see a later one.
TensorHandle generate_autoregressive_mask(int64_t batch_size, int64_t length, Device* device = nullptr);

struct PaddedTokens {
  TensorHandle tokens, mask;  // (N, length), filled up; and where it was
};
// Longer lists are cut to max_length; with `fixed`, shorter batches are filled up to it as well.
PaddedTokens generate_padding_mask(int64_t pad_token, const std::vector<std::vector<int64_t>>& tokens,
    std::optional<int64_t> max_length = {}, bool fixed = false, Device* device = nullptr);

}  // namespace pyburn::nn
