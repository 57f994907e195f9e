// Attention masks, true at masked positions; as in Burn.
#pragma once
#include <optional>
#include <vector>

#include "pyburn/tensor/handle.h"

namespace pyburn::nn {

// (batch_size, length, length): true if the key follows the query.
TensorHandle generate_autoregressive_mask(int64_t batch_size, int64_t length, Device* device = nullptr);

struct PaddedTokens {
  TensorHandle tokens, mask;  // (N, length), padded; and the padding mask
};
// Longer lists are truncated to max_length; with `fixed`, shorter batches are padded to it as well.
PaddedTokens generate_padding_mask(int64_t pad_token, const std::vector<std::vector<int64_t>>& tokens,
    std::optional<int64_t> max_length = {}, bool fixed = false, Device* device = nullptr);

}  // namespace pyburn::nn
