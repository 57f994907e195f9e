// A stable sort of a few items that, unlike std::stable_sort, does not allocate.
#pragma once
#include <utility>

namespace pyburn {

template <class Items, class Less>
void insertion_sort(Items& items, Less less) {
  for (auto end = items.begin(); end != items.end(); ++end)
    for (auto at = end; at != items.begin() && less(*at, *(at - 1)); --at) std::swap(*at, *(at - 1));
}

}  // namespace pyburn
