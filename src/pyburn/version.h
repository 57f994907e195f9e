// The version of these headers. CMake refuses to configure when it is not the project's.
#pragma once

namespace pyburn {

inline constexpr char kPyburnVersion[] = "0.2.0";

}  // namespace pyburn
