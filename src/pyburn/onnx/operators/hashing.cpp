// MurmurHash3 of com.microsoft: the 32-bit hash of each element, which feature hashing makes columns of.
#include <bit>
#include <cstring>

#include "pyburn/onnx/call.h"
#include "pyburn/runtime/transfer.h"
#include "pyburn/support/error.h"

namespace pyburn::onnx {
namespace {

// MurmurHash3_x86_32 of Austin Appleby, in the public domain.
uint32_t murmur(std::string_view bytes, uint32_t hash) {
  const auto mixed = [](uint32_t block) { return std::rotl(block * 0xcc9e2d51u, 15) * 0x1b873593u; };
  const auto length = uint32_t(bytes.size());
  for (; bytes.size() >= 4; bytes.remove_prefix(4)) {
    uint32_t block;
    std::memcpy(&block, bytes.data(), 4);
    hash = std::rotl(hash ^ mixed(block), 13) * 5 + 0xe6546b64u;
  }
  uint32_t rest = 0;
  for (size_t i = 0; i < bytes.size(); ++i) rest |= uint32_t(uint8_t(bytes[i])) << 8 * i;
  if (!bytes.empty()) hash ^= mixed(rest);
  hash ^= length;
  hash = (hash ^ hash >> 16) * 0x85ebca6bu;
  hash = (hash ^ hash >> 13) * 0xc2b2ae35u;
  return hash ^ hash >> 16;
}

Results murmur_hash(Call& c) {
  const auto seed = uint32_t(c.integer("seed", 0));
  std::vector<uint32_t> hashes;
  Shape shape;
  if (c.value(0).is_strings()) {
    shape = c.value(0).strings().shape;
    for (const std::string& text : c.value(0).strings().items) hashes.push_back(murmur(text, seed));
  } else {
    const TensorHandle x = c.input(0);
    shape = x.shape();
    const auto size = size_t(size_of(x.dtype()));
    const std::vector<std::byte> bytes = host_bytes(x);
    for (size_t at = 0; at < bytes.size(); at += size)
      hashes.push_back(murmur({reinterpret_cast<const char*>(bytes.data()) + at, size}, seed));
  }
  const DType dtype = c.flag("positive", true) ? DType::uint32 : DType::int32;
  return from_host(c.device(), {hashes.data(), {shape, dtype}});
}

constexpr Operator kRows[] = {{"com.microsoft", "MurmurHash3", 1, murmur_hash}};

}  // namespace

std::span<const Operator> hash_operators() { return kRows; }

}  // namespace pyburn::onnx
