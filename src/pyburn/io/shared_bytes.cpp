#include "pyburn/io/shared_bytes.h"

#include <algorithm>
#include <cstring>

#include "pyburn/backends/cpu/file_storage.h"
#include "pyburn/io/mapped_file.h"
#include "pyburn/runtime/transfer.h"
#include "pyburn/support/error.h"
#include "pyburn/support/file_pages.h"

namespace pyburn::io {
namespace {

using Owner = std::shared_ptr<const void>;

// Only CPU memory can be in a file: other backends and decorators have their own storages.
bool can_alias(std::span<const std::byte> bytes, DType dtype, const Device& target) {
  return &target == &host_device() && reinterpret_cast<uintptr_t>(bytes.data()) % uintptr_t(size_of(dtype)) == 0;
}

}  // namespace

SharedBytes SharedBytes::of_file(const std::filesystem::path& path) {
  SharedBytes b;
  const auto file = std::make_shared<MappedFile>(path);
  b.owner_ = file;
  b.view_ = file->bytes();
  b.mapped_ = true;
  return b;
}

SharedBytes SharedBytes::of(std::vector<std::byte> bytes) {
  SharedBytes b;
  const auto memory = std::make_shared<std::vector<std::byte>>(std::move(bytes));
  b.owner_ = memory;
  b.view_ = *memory;
  return b;
}

SharedBytes SharedBytes::borrowed(std::span<const std::byte> bytes) {
  SharedBytes b;
  b.view_ = bytes;
  return b;
}

SharedBytes SharedBytes::part(size_t offset, size_t size) const {
  SharedBytes b = *this;
  b.view_ = view_.subspan(offset, size);
  return b;
}

SharedBytes SharedBytes::swapped(size_t width) const {
  std::vector<std::byte> result(view_.begin(), view_.end());
  for (auto it = result.begin(); size_t(result.end() - it) >= width; it += ptrdiff_t(width)) std::reverse(it, it + ptrdiff_t(width));
  return of(std::move(result));
}

void SharedBytes::release_pages() const {
  if (mapped_) release_file_pages(view_);
}

bool SharedBytes::starts_with(std::string_view text) const {
  return size() >= text.size() && std::memcmp(view_.data(), text.data(), text.size()) == 0;
}

TensorHandle SharedBytes::tensor(const Meta& meta, Device& target, bool alias) const {
  checked_numel(meta.shape);
  void* data = const_cast<std::byte*>(view_.data());
  if (!alias || !mapped_ || view_.empty() || !can_alias(view_, meta.dtype, target)) return from_host(target, {data, meta});
  Ref<Storage> storage =
      cpu::wrap_file_memory(data, int64_t(size()), new Owner(owner_), [](void* owner) { delete static_cast<Owner*>(owner); });
  return make_tensor(target, meta.dtype, contiguous_layout(meta.shape), std::move(storage));
}

uint64_t size_in_bytes(const Meta& meta, std::string_view what) {
  uint64_t size = uint64_t(size_of(meta.dtype));
  for (int64_t extent : meta.shape)
    require<FormatError>(extent >= 0 && !__builtin_mul_overflow(size, uint64_t(extent), &size) && size <= uint64_t(INT64_MAX),
        "'{}' is too large: got {}", what, meta.shape);
  return size;
}

}  // namespace pyburn::io
