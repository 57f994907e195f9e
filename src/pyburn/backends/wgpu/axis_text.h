// WGSL for each spatial axis of an image.
#pragma once
#include <string>
#include <string_view>

namespace pyburn::wgpu {

// `line` once per axis, with the number of the axis in place of each '#'; backwards: the last axis first.
std::string per_axis(int axes, std::string_view line, bool backwards = false);

}  // namespace pyburn::wgpu
