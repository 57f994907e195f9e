#include "pyburn/onnx/tensor_proto.h"

#include <charconv>
#include <cstring>

#include "pyburn/support/checked.h"
#include "pyburn/support/error.h"

namespace pyburn::onnx {
namespace {

using protozero::pbf_wire_type;
using Bytes = std::vector<std::byte>;

enum class Field : protozero::pbf_tag_type {
  dims = 1,
  data_type = 2,
  segment = 3,
  float_data = 4,
  int32_data = 5,
  string_data = 6,
  int64_data = 7,
  name = 8,
  raw_data = 9,
  double_data = 10,
  uint64_data = 11,
  external_data = 13,
  data_location = 14,
};
enum class SparseField : protozero::pbf_tag_type { values = 1, indices = 2, dims = 3 };
enum class EntryField : protozero::pbf_tag_type { key = 1, value = 2 };

template <class T>
void append(Bytes& bytes, T value, size_t width = sizeof(T)) {
  const auto* from = reinterpret_cast<const std::byte*>(&value);
  bytes.insert(bytes.end(), from, from + width);
}

std::pair<std::string, std::string> read_entry(protozero::data_view view) {
  std::pair<std::string, std::string> entry;
  protozero::pbf_message<EntryField> m(view);
  while (m.next()) switch (m.tag_and_type()) {
      case tag_and_type(EntryField::key, pbf_wire_type::length_delimited):
        entry.first = m.get_string();
        break;
      case tag_and_type(EntryField::value, pbf_wire_type::length_delimited):
        entry.second = m.get_string();
        break;
      default:
        m.skip();
    }
  return entry;
}

uint64_t number_of(const std::string& text) {
  uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  require<FormatError>(error == std::errc() && end == text.data() + text.size(), "[onnx] not a size of external data: got '{}'", text);
  return value;
}

// What the message says before its parts are put together.
struct Parts {
  TensorDef tensor;
  int64_t data_type = 0, location = 0;
  bool has_raw = false, is_segment = false;
  protozero::data_view raw;
  Bytes typed;
  int64_t width = 4;  // bytes of an element of the list of int32, which holds all narrow types
  std::vector<std::pair<std::string, std::string>> external;
};

// The list of a wide type becomes bytes at once. int32_data holds narrow types, too, whose width is known at the end only.
Parts read_parts(protozero::data_view view, ReadContext& context) {
  Parts parts;
  Shape& shape = parts.tensor.shape;
  std::vector<int32_t> narrow;
  protozero::pbf_message<Field> m(view);
  const auto add_dim = [&](int64_t size) {
    require<FormatError>(size >= 0, "[onnx] a tensor has a negative size: got {}", size);
    require<FormatError>(shape.rank() < kMaxRank, "[onnx] a tensor has more than {} dimensions", kMaxRank);
    shape.push_back(size);
  };
  while (m.next()) switch (m.tag_and_type()) {
      case tag_and_type(Field::dims, pbf_wire_type::varint):
        add_dim(m.get_int64());
        break;
      case tag_and_type(Field::dims, pbf_wire_type::length_delimited):
        for (const int64_t size : m.get_packed_int64()) add_dim(size);
        break;
      case tag_and_type(Field::data_type, pbf_wire_type::varint):
        parts.data_type = m.get_int32();
        break;
      case tag_and_type(Field::segment, pbf_wire_type::length_delimited):
        parts.is_segment = true, m.skip();
        break;
      case tag_and_type(Field::name, pbf_wire_type::length_delimited):
        parts.tensor.name = m.get_string();
        break;
      case tag_and_type(Field::raw_data, pbf_wire_type::length_delimited):
        parts.raw = m.get_view(), parts.has_raw = true;
        break;
      case tag_and_type(Field::data_location, pbf_wire_type::varint):
        parts.location = m.get_int32();
        break;
      case tag_and_type(Field::external_data, pbf_wire_type::length_delimited):
        context.count();
        parts.external.push_back(read_entry(m.get_view()));
        break;
      case tag_and_type(Field::string_data, pbf_wire_type::length_delimited):
        context.count();
        parts.tensor.strings.push_back(m.get_bytes());
        break;
      case tag_and_type(Field::float_data, pbf_wire_type::fixed32):
        append(parts.typed, m.get_float());
        break;
      case tag_and_type(Field::float_data, pbf_wire_type::length_delimited):
        for (const float v : m.get_packed_float()) append(parts.typed, v);
        break;
      case tag_and_type(Field::double_data, pbf_wire_type::fixed64):
        append(parts.typed, m.get_double());
        break;
      case tag_and_type(Field::double_data, pbf_wire_type::length_delimited):
        for (const double v : m.get_packed_double()) append(parts.typed, v);
        break;
      case tag_and_type(Field::int64_data, pbf_wire_type::varint):
        append(parts.typed, m.get_int64());
        break;
      case tag_and_type(Field::int64_data, pbf_wire_type::length_delimited):
        for (const int64_t v : m.get_packed_int64()) append(parts.typed, v);
        break;
      case tag_and_type(Field::uint64_data, pbf_wire_type::varint):
        append(parts.typed, m.get_uint64()), parts.width = 8;
        break;
      case tag_and_type(Field::uint64_data, pbf_wire_type::length_delimited):
        for (const uint64_t v : m.get_packed_uint64()) append(parts.typed, v);
        parts.width = 8;
        break;
      case tag_and_type(Field::int32_data, pbf_wire_type::varint):
        narrow.push_back(m.get_int32());
        break;
      case tag_and_type(Field::int32_data, pbf_wire_type::length_delimited):
        for (const int32_t v : m.get_packed_int32()) narrow.push_back(v);
        break;
      default:
        m.skip();
    }
  const int bits = element_type_info(parts.data_type).bits;
  const size_t width = bits <= 8 ? 1 : bits == 16 ? 2 : 4;
  for (const int32_t v : narrow) append(parts.typed, v, width);
  if (parts.width == 8 && bits == 32) {  // uint32 lies in the list of uint64
    Bytes halves;
    for (size_t i = 0; i + 8 <= parts.typed.size(); i += 8)
      halves.insert(halves.end(), parts.typed.begin() + ptrdiff_t(i), parts.typed.begin() + ptrdiff_t(i) + 4);
    parts.typed = std::move(halves);
  }
  return parts;
}

io::SharedBytes external_bytes(const Parts& parts, ReadContext& context) {
  std::string location;
  uint64_t offset = 0;
  std::optional<uint64_t> length;
  for (const auto& [key, value] : parts.external) {
    if (key == "location") location = value;
    else if (key == "offset") offset = number_of(value);
    else if (key == "length") length = number_of(value);
  }
  return context.external(location, offset, length);
}

uint64_t bytes_of_elements(const Shape& shape, int bits, const std::string& name) {
  int64_t elements = 1;
  for (const int64_t size : shape)
    require<FormatError>(!__builtin_mul_overflow(elements, size, &elements) && elements <= INT64_MAX / 256,
        "[onnx] tensor '{}' is too large: got {}", name, shape);
  return (uint64_t(elements) * uint64_t(bits) + 7) / 8;
}

}  // namespace

io::SharedBytes ReadContext::part(protozero::data_view view) const {
  const auto* whole = reinterpret_cast<const char*>(file_.view().data());
  return view.empty() ? io::SharedBytes() : file_.part(size_t(view.data() - whole), view.size());
}

io::SharedBytes ReadContext::external(const std::string& location, uint64_t offset, std::optional<uint64_t> length) {
  namespace fs = std::filesystem;
  require<FormatError>(!folder_.empty(), "[onnx] the model has data in another file ('{}'): load it by its path, not from bytes", location);
  const auto known = externals_.find(location);
  io::SharedBytes file;
  if (known != externals_.end()) file = known->second;
  else {
    const fs::path relative(location);
    bool inside = !location.empty() && relative.is_relative() && location.find('\0') == location.npos;
    for (const fs::path& part : relative) inside = inside && part != "..";
    require<FormatError>(inside, "[onnx] external data must lie in the folder of the model: got '{}'", location);
    std::error_code error;
    const fs::path folder = fs::canonical(folder_, error), path = error ? fs::path() : fs::canonical(folder / relative, error);
    require<FormatError>(!error, "[onnx] the file of external data is missing: got '{}' in {}", location, folder_.string());
    const fs::path from_folder = path.lexically_relative(folder);
    require<FormatError>(!from_folder.empty() && *from_folder.begin() != "..",
        "[onnx] external data must lie in the folder of the model: got '{}', a link to {}", location, path.string());
    require<FormatError>(fs::is_regular_file(path), "[onnx] external data must be in a file: got '{}'", location);
    file = externals_.emplace(location, io::SharedBytes::of_file(path)).first->second;
  }
  require<FormatError>(offset <= file.size() && length.value_or(0) <= file.size() - offset,
      "[onnx] external data lies outside of '{}': got {} bytes at {}, with {} in the file", location, length.value_or(0), offset,
      uint64_t(file.size()));
  return file.part(size_t(offset), size_t(length.value_or(file.size() - offset)));
}

TensorDef read_tensor(protozero::data_view message, ReadContext& context) {
  Parts parts = read_parts(message, context);
  TensorDef& tensor = parts.tensor;
  require<FormatError>(!parts.is_segment, "[onnx] tensor '{}' is stored in segments, which is not supported", tensor.name);
  const ElementTypeInfo& info = element_type_info(parts.data_type);
  tensor.type = ElementType(parts.data_type);
  if (tensor.type == ElementType::string) {
    require<FormatError>(bytes_of_elements(tensor.shape, 8, tensor.name) == tensor.strings.size(),
        "[onnx] tensor '{}' of shape {} has {} strings", tensor.name, tensor.shape, int64_t(tensor.strings.size()));
    return std::move(tensor);
  }
  const uint64_t expected = bytes_of_elements(tensor.shape, info.bits, tensor.name);
  if (parts.location == 1) {
    tensor.bytes = external_bytes(parts, context);
    if (tensor.bytes.size() > expected) tensor.bytes = tensor.bytes.part(0, size_t(expected));
  } else {
    tensor.bytes = parts.has_raw ? context.part(parts.raw) : io::SharedBytes::of(std::move(parts.typed));
  }
  require<FormatError>(tensor.bytes.size() == expected, "[onnx] tensor '{}' does not fit its shape: expected {} bytes for {} {}, got {}",
      tensor.name, expected, info.name, tensor.shape, uint64_t(tensor.bytes.size()));
  return std::move(tensor);
}

TensorDef read_sparse_tensor(protozero::data_view message, ReadContext& context) {
  TensorDef values, indices, dense;
  protozero::pbf_message<SparseField> m(message);
  while (m.next()) switch (m.tag_and_type()) {
      case tag_and_type(SparseField::values, pbf_wire_type::length_delimited):
        values = read_tensor(m.get_view(), context);
        break;
      case tag_and_type(SparseField::indices, pbf_wire_type::length_delimited):
        indices = read_tensor(m.get_view(), context);
        break;
      case tag_and_type(SparseField::dims, pbf_wire_type::varint):
        dense.shape.push_back(m.get_int64());
        break;
      case tag_and_type(SparseField::dims, pbf_wire_type::length_delimited):
        for (const int64_t size : m.get_packed_int64()) dense.shape.push_back(size);
        break;
      default:
        m.skip();
    }
  const int bits = values.type == ElementType::undefined ? 0 : element_type_info(int64_t(values.type)).bits;
  const int64_t count = values.shape.rank() == 1 ? values.shape[0] : -1;
  const bool is_list = indices.shape.rank() == 1 && count == indices.shape[0];
  const bool is_table = indices.shape.rank() == 2 && count == indices.shape[0] && indices.shape[1] == dense.shape.rank();
  require<FormatError>(bits >= 8 && dense.shape.rank() <= kMaxRank && indices.type == ElementType::int64 && (is_list || is_table),
      "[onnx] the parts of sparse tensor '{}' do not fit", values.name);
  for (const int64_t size : dense.shape) require<FormatError>(size >= 0, "[onnx] a sparse tensor has a negative size: got {}", size);
  dense.name = values.name, dense.type = values.type;
  const uint64_t size = bytes_of_elements(dense.shape, bits, dense.name), width = uint64_t(bits) / 8;
  // A small file may not ask for any amount of memory.
  constexpr uint64_t largest = uint64_t(1) << 28;
  require<FormatError>(size <= largest, "[onnx] sparse tensor '{}' is too large as a dense one: got {} bytes", dense.name, size);
  Bytes bytes(size_t(size), std::byte(0));
  const auto index = [&](int64_t i) {
    int64_t v;
    std::memcpy(&v, indices.bytes.view().data() + size_t(i) * 8, 8);
    return v;
  };
  for (int64_t i = 0; i < count; ++i) {
    int64_t at = is_list ? index(i) : 0;
    if (is_table)
      for (int axis = 0; axis < dense.shape.rank(); ++axis) {
        const int64_t k = index(i * dense.shape.rank() + axis);
        require<FormatError>(
            k >= 0 && k < dense.shape[axis], "[onnx] an index of sparse tensor '{}' is out of range: got {}", dense.name, k);
        at = Checked(at) * dense.shape[axis] + k;
      }
    require<FormatError>(
        at >= 0 && uint64_t(at) < size / width, "[onnx] an index of sparse tensor '{}' is out of range: got {}", dense.name, at);
    std::memcpy(bytes.data() + size_t(at) * width, values.bytes.view().data() + size_t(i) * width, width);
  }
  dense.bytes = io::SharedBytes::of(std::move(bytes));
  return dense;
}

}  // namespace pyburn::onnx
