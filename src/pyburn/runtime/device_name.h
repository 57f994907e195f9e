// The grammar of device names: "cpu", "wgpu:1", "autodiff(fusion(cpu))", "remote(ws://host:1)".
//
//   device   = name [":" options] ["(" argument {"," argument} ")"]
//   argument = device | address
//   name     = letters, digits, "_", "-", "."                      in any case
//   address  = name "://" text                                     case kept
//   options  = text                                                case kept
//   text     = any characters but ( ) , "  or quoted: "\" and \\ stand for themselves after a backslash"
//
// Blanks around each part are ignored. docs/guides/devices.md documents it for users.
#pragma once
#include <string>
#include <string_view>
#include <vector>

namespace pyburn {

inline constexpr size_t kLongestDeviceName = 4096;  // bytes
inline constexpr int kDeepestDevice = 32;           // nesting depth

struct DeviceName {
  std::string name;     // lower case; empty for an address
  std::string options;  // or the address
  bool parenthesised = false;
  std::vector<DeviceName> arguments;
  size_t position = 0;  // offset of its first byte in the text

  bool is_address() const { return name.empty(); }
};

DeviceName parse_device_name(std::string_view text);  // DeviceError with the position
std::string to_text(const DeviceName&);               // parses to the same name
std::string quoted_where_needed(std::string_view options);
std::string address_text(std::string_view address);
bool is_backend_name(std::string_view text);  // only a name, in lower case

// `message` with the text and a marker below the byte at `position`.
std::string pointed_at(std::string_view message, std::string_view text, size_t position);

}  // namespace pyburn
