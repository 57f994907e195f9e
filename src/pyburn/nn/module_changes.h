// Counts changes of modules, of all of them: what they register, their options and mode, attributes that a host language sets. A program
// that was made of a module's code looks at the module again when the count has changed.
#pragma once
#include <atomic>
#include <cstdint>

namespace pyburn::nn {

std::atomic<uint64_t>& module_changes();
inline void note_module_change() { module_changes().fetch_add(1, std::memory_order_relaxed); }

}  // namespace pyburn::nn
