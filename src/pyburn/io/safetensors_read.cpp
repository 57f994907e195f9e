#include <algorithm>
#include <set>

#include "pyburn/io/json_text.h"
#include "pyburn/io/safetensors.h"
#include "pyburn/io/safetensors_dtypes.h"
#include "pyburn/runtime/device.h"
#include "pyburn/support/error.h"

namespace pyburn::io {
namespace {

constexpr uint64_t kLargestHeader = 100'000'000;  // the limit of the reference implementation
constexpr int kDeepestHeader = 4;                 // file, tensor, list; anything deeper is not ours

template <class... A>
[[noreturn]] void refuse(const char* pattern, const A&... values) {
  throw FormatError("[safetensors] " + format(pattern, values...));
}
template <class... A>
void expect(bool ok, const char* pattern, const A&... values) {
  if (!ok) refuse(pattern, values...);
}

// Later duplicates would silently win.
Json parse_header(std::span<const std::byte> text) {
  std::set<std::string> names;
  return parse_json(text, kDeepestHeader, "safetensors", [&](int depth, const std::string& key) {
    if (depth == 1) expect(names.insert(key).second, "duplicate tensor name: got '{}'", key);
  });
}

const Json& member(const Json& tensor, const char* key, const std::string& name) {
  const auto it = tensor.find(key);
  expect(it != tensor.end(), "tensor '{}' has no {}", name, key);
  return *it;
}

uint64_t whole_number(const Json& v, const std::string& name) {
  expect(v.is_number_unsigned(), "tensor '{}': expected an integer: got {}", name, short_text(v));
  return v.get<uint64_t>();
}

Shape read_shape(const Json& list, const std::string& name) {
  expect(list.is_array() && list.size() <= kMaxRank, "tensor '{}': expected a list of sizes", name);
  Shape shape;
  for (const Json& v : list) {
    const uint64_t extent = whole_number(v, name);
    expect(extent <= uint64_t(INT64_MAX), "tensor '{}': size too large: got {}", name, extent);
    shape.push_back(int64_t(extent));
  }
  return shape;
}

SafetensorsReader::Item read_item(const std::string& name, const Json& tensor, std::span<const std::byte> data) {
  expect(tensor.is_object(), "tensor '{}': expected an object", name);
  const Json &dtype = member(tensor, "dtype", name), &offsets = member(tensor, "data_offsets", name);
  expect(dtype.is_string(), "tensor '{}': expected a dtype", name);
  const auto stored = dtype.get<std::string>();
  const std::optional<Float8> packed = float8_from_safetensors(stored);
  const std::optional<DType> known = packed ? DType::bfloat16 : dtype_from_safetensors(stored);
  expect(known.has_value(), "tensor '{}' has an unsupported dtype: got '{}'", name, stored);
  const Meta meta{read_shape(member(tensor, "shape", name), name), *known};
  expect(offsets.is_array() && offsets.size() == 2, "tensor '{}': expected two offsets", name);
  const uint64_t begin = whole_number(offsets[0], name), end = whole_number(offsets[1], name);
  expect(begin <= end && end <= data.size(), "tensor '{}' is outside the file: got offsets {} and {} for {} bytes", name, begin, end,
      uint64_t(data.size()));
  const uint64_t size = size_in_bytes({meta.shape, packed ? DType::uint8 : *known}, name);
  expect(end - begin == size, "tensor '{}' has the wrong size: got {} bytes for {} of {}", name, end - begin, meta.shape, stored);
  return {name, meta, data.subspan(begin, size), packed};
}

TensorHandle loaded(const SharedBytes& bytes, const SafetensorsReader::Item& item, Device& device, bool mmap) {
  return (item.packed ? as_bfloat16(bytes, *item.packed) : bytes).tensor(item.meta, device, mmap);
}

}  // namespace

SafetensorsReader::SafetensorsReader(const std::filesystem::path& path) : SafetensorsReader(SharedBytes::of_file(path)) {}

SafetensorsReader::SafetensorsReader(SharedBytes file) : file_(std::move(file)) {
  const std::span<const std::byte> bytes = file_.view();
  expect(!file_.starts_with("PK\3\4"), "this is a zip file, as written by PyTorch and numpy: use pyburn.load() for PyTorch files");
  expect(bytes.size() >= 8, "the file is too short for a header: got {} bytes", uint64_t(bytes.size()));
  uint64_t header = 0;
  for (int i = 7; i >= 0; --i) header = header << 8 | uint64_t(bytes[size_t(i)]);
  expect(header <= kLargestHeader, "the header is too large: got {} bytes", header);
  expect(header <= bytes.size() - 8, "the file is shorter than its header: got {} bytes for {}", uint64_t(bytes.size()) - 8, header);
  const Json root = parse_header(bytes.subspan(8, header));
  const std::span<const std::byte> data = bytes.subspan(8 + header);
  expect(root.is_object(), "the header is not an object");
  for (const auto& [name, value] : root.items()) {
    if (name != "__metadata__") {
      items_.push_back(read_item(name, value, data));
      continue;
    }
    expect(value.is_object(), "the metadata is not an object");
    for (const auto& [key, text] : value.items()) {
      expect(text.is_string(), "metadata '{}' is not a string", key);
      metadata_[key] = text.get<std::string>();
    }
  }
  // Without holes and overlaps, as the format demands: no byte has two meanings, none is hidden.
  std::stable_sort(items_.begin(), items_.end(),
      [](const Item& a, const Item& b) { return std::pair(a.bytes.data(), a.bytes.size()) < std::pair(b.bytes.data(), b.bytes.size()); });
  const std::byte* next = data.data();
  for (const Item& item : items_) {
    expect(item.bytes.data() == next, "the tensors overlap or leave a gap at '{}'", item.name);
    next += item.bytes.size();
  }
  expect(next == data.data() + data.size(), "the file has trailing bytes: got {}", int64_t(data.data() + data.size() - next));
}

SharedBytes SafetensorsReader::part(const Item& item) const {
  return file_.part(size_t(item.bytes.data() - file_.view().data()), item.bytes.size());
}

TensorHandle SafetensorsReader::tensor(const Item& item, Device* device, bool mmap) const {
  return loaded(part(item), item, device ? *device : default_device(), mmap);
}

TensorHandle SafetensorsReader::tensor(std::string_view name, Device* device, bool mmap) const {
  for (const Item& item : items_)
    if (item.name == name) return tensor(item, device, mmap);
  fail<ValueError>("[safetensors] no such tensor: got '{}'", name);
}

Snapshots SafetensorsReader::snapshots(bool mmap) const {
  Snapshots list;
  for (const Item& item : items_)
    list.push_back({item.name, item.meta, [bytes = part(item), item, mmap](Device& device) { return loaded(bytes, item, device, mmap); }});
  return list;
}

TensorList load_safetensors(const std::filesystem::path& path, Device* device) {
  return load_all(SafetensorsReader(path).snapshots(), device ? *device : default_device());
}

}  // namespace pyburn::io
