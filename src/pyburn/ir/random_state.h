// The random stream of an operation: what its attributes `seed` and `offset` name.
#pragma once
#include <optional>

#include "pyburn/ir/operation.h"

namespace pyburn {

struct SeedAndOffset {
  int64_t seed = 0, offset = 0;
  bool operator==(const SeedAndOffset&) const = default;
};
std::optional<SeedAndOffset> random_state_of(OpRef op);  // none without such attributes
Operation with_random_state(const Operation& op, SeedAndOffset state);

}  // namespace pyburn
