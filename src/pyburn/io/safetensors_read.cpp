#include <algorithm>
#include <cstring>
#include <nlohmann/json.hpp>
#include <set>

#include "pyburn/io/mapped_file.h"
#include "pyburn/io/safetensors.h"
#include "pyburn/io/safetensors_dtypes.h"
#include "pyburn/runtime/transfer.h"
#include "pyburn/support/error.h"

namespace pyburn::io {
namespace {

using Json = nlohmann::ordered_json;

constexpr uint64_t kLargestHeader = 100'000'000;  // the limit of the reference implementation
constexpr int kDeepestHeader = 4;                 // file, tensor, list; anything deeper is not ours
constexpr size_t kMostAxes = 64;

template <class... A>
[[noreturn]] void refuse(const char* pattern, const A&... values) {
  throw FormatError("[safetensors] " + format(pattern, values...));
}
template <class... A>
void expect(bool ok, const char* pattern, const A&... values) {
  if (!ok) refuse(pattern, values...);
}

// Later duplicates would silently win.
Json parse_json(std::span<const std::byte> text) {
  std::set<std::string> names;
  const auto* begin = reinterpret_cast<const char*>(text.data());
  auto check = [&](int depth, Json::parse_event_t event, Json& value) {
    expect(depth <= kDeepestHeader, "the header is nested too deeply");
    if (event == Json::parse_event_t::key && depth == 1)
      expect(names.insert(value.get<std::string>()).second, "a tensor is named twice: got '{}'", value.get<std::string>());
    return true;
  };
  try {
    return Json::parse(begin, begin + text.size(), check);
  } catch (const Json::exception& e) {
    refuse("the header is not valid JSON: {}", e.what());
  }
}

const Json& member(const Json& tensor, const char* key, const std::string& name) {
  const auto it = tensor.find(key);
  expect(it != tensor.end(), "tensor '{}' has no {}", name, key);
  return *it;
}

uint64_t whole_number(const Json& v, const std::string& name) {
  expect(
      v.is_number_unsigned(), "tensor '{}': expected a whole number: got {}", name, v.dump(-1, ' ', false, Json::error_handler_t::replace));
  return v.get<uint64_t>();
}

Shape read_shape(const Json& list, const std::string& name) {
  expect(list.is_array() && list.size() <= kMostAxes, "tensor '{}': expected a list of extents", name);
  Shape shape;
  for (const Json& v : list) {
    const uint64_t extent = whole_number(v, name);
    expect(extent <= uint64_t(INT64_MAX), "tensor '{}': extent too large: got {}", name, extent);
    shape.push_back(int64_t(extent));
  }
  return shape;
}

// Bytes of the tensor; overflow is an error of the file.
uint64_t size_in_bytes(const Meta& meta, const std::string& name) {
  uint64_t size = uint64_t(size_of(meta.dtype));
  for (int64_t extent : meta.shape)
    expect(!__builtin_mul_overflow(size, uint64_t(extent), &size), "tensor '{}' is too large: got {}", name, meta.shape);
  return size;
}

SafetensorsReader::Item read_item(const std::string& name, const Json& tensor, std::span<const std::byte> data) {
  expect(tensor.is_object(), "tensor '{}': expected an object", name);
  const Json &dtype = member(tensor, "dtype", name), &offsets = member(tensor, "data_offsets", name);
  expect(dtype.is_string(), "tensor '{}': expected a dtype", name);
  const std::optional<DType> known = dtype_from_safetensors(dtype.get<std::string>());
  expect(known.has_value(), "tensor '{}' has a dtype that is not supported: got '{}'", name, dtype.get<std::string>());
  const Meta meta{read_shape(member(tensor, "shape", name), name), *known};
  expect(offsets.is_array() && offsets.size() == 2, "tensor '{}': expected two offsets", name);
  const uint64_t begin = whole_number(offsets[0], name), end = whole_number(offsets[1], name);
  expect(begin <= end && end <= data.size(), "tensor '{}' lies outside the file: got offsets {} and {} for {} bytes", name, begin, end,
      uint64_t(data.size()));
  const uint64_t size = size_in_bytes(meta, name);
  expect(end - begin == size, "tensor '{}' has offsets that do not fit its shape: got {} bytes for {} of {}", name, end - begin, meta.shape,
      meta.dtype);
  return {name, meta, data.subspan(begin, size)};
}

}  // namespace

SafetensorsReader::SafetensorsReader(const std::filesystem::path& path) : file_(std::make_unique<MappedFile>(path)) {
  parse(file_->bytes());
}
SafetensorsReader::SafetensorsReader(std::span<const std::byte> bytes) { parse(bytes); }
SafetensorsReader::~SafetensorsReader() = default;

void SafetensorsReader::parse(std::span<const std::byte> bytes) {
  expect(bytes.size() >= 8, "the file is too short for a header: got {} bytes", uint64_t(bytes.size()));
  uint64_t header = 0;
  for (int i = 7; i >= 0; --i) header = header << 8 | uint64_t(bytes[size_t(i)]);
  expect(header <= kLargestHeader, "the header is too large: got {} bytes", header);
  expect(header <= bytes.size() - 8, "the file is shorter than its header: got {} bytes for {}", uint64_t(bytes.size()) - 8, header);
  const Json root = parse_json(bytes.subspan(8, header));
  const std::span<const std::byte> data = bytes.subspan(8 + header);
  expect(root.is_object(), "the header is not an object");
  for (const auto& [name, value] : root.items()) {
    if (name != "__metadata__") {
      items_.push_back(read_item(name, value, data));
      continue;
    }
    expect(value.is_object(), "the metadata is not an object");
    for (const auto& [key, text] : value.items()) {
      expect(text.is_string(), "metadata '{}' is not text", key);
      metadata_[key] = text.get<std::string>();
    }
  }
  // Without holes and overlaps, as the format demands: no byte has two meanings, none is hidden.
  std::stable_sort(items_.begin(), items_.end(),
      [](const Item& a, const Item& b) { return std::pair(a.bytes.data(), a.bytes.size()) < std::pair(b.bytes.data(), b.bytes.size()); });
  const std::byte* next = data.data();
  for (const Item& item : items_) {
    expect(item.bytes.data() == next, "the tensors overlap or leave a hole at '{}'", item.name);
    next += item.bytes.size();
  }
  expect(
      next == data.data() + data.size(), "the file has bytes that belong to no tensor: got {}", int64_t(data.data() + data.size() - next));
}

TensorHandle SafetensorsReader::tensor(const Item& item, Device* device) const {
  checked_numel(item.meta.shape);
  return from_host(device ? *device : default_device(), {const_cast<std::byte*>(item.bytes.data()), item.meta});
}

TensorHandle SafetensorsReader::tensor(std::string_view name, Device* device) const {
  for (const Item& item : items_)
    if (item.name == name) return tensor(item, device);
  fail<ValueError>("[safetensors] there is no tensor of this name: got '{}'", name);
}

TensorList load_safetensors(const std::filesystem::path& path, Device* device) {
  const SafetensorsReader reader(path);
  TensorList list;
  for (const SafetensorsReader::Item& item : reader.items()) list.emplace_back(item.name, reader.tensor(item, device));
  return list;
}

}  // namespace pyburn::io
