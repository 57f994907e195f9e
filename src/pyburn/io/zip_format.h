// Constants of the zip format, shared by its reader and writer.
#pragma once
#include <cstdint>

namespace pyburn::io::zip {

inline constexpr uint32_t kLocalHeader = 0x04034b50, kCentralHeader = 0x02014b50, kEnd = 0x06054b50;
inline constexpr uint32_t kEnd64 = 0x06064b50, kEnd64Locator = 0x07064b50;
inline constexpr uint16_t kStored = 0, kDeflated = 8;
inline constexpr uint16_t kEncryptedFlag = 1, kUtf8Flag = 1 << 11;
inline constexpr uint16_t kExtra64 = 1, kExtraPadding = 0x4246;  // fields that follow a header; the second one is PyTorch's
inline constexpr uint32_t kIn64 = 0xffffffff;                    // the number itself is in the first of them
inline constexpr uint64_t kEndBytes = 22, kEnd64LocatorBytes = 20, kEnd64Bytes = 56, kCentralBytes = 46, kLocalBytes = 30;

}  // namespace pyburn::io::zip
