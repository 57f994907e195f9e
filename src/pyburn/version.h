// The version of these headers. CMake fails if it differs from the project's.
#pragma once

namespace pyburn {

inline constexpr char kPyburnVersion[] = "0.2.0";

}  // namespace pyburn
