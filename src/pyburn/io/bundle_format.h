// Constants shared by the reader and the writer of bundles.
#pragma once
#include <cstdint>
#include <string_view>

namespace pyburn::io::bundle {

inline constexpr std::string_view kMagic("PYBURN\r\n");
inline constexpr uint32_t kVersion = 1;
inline constexpr uint64_t kAlignment = 64, kHeaderBytes = 16, kFooterBytes = 32;

}  // namespace pyburn::io::bundle
