#include "pyburn/onnx/value.h"

#include "pyburn/runtime/transfer.h"
#include "pyburn/support/error.h"

namespace pyburn::onnx {

std::string to_text(const Value& v) {
  switch (v.kind()) {
    case Value::Kind::absent:
      return "nothing";
    case Value::Kind::none:
      return "an empty optional";
    case Value::Kind::tensor:
      return format("a tensor {} {}", v.tensor().dtype(), v.tensor().shape());
    case Value::Kind::strings:
      return format("strings {}", v.strings().shape);
    case Value::Kind::sequence:
      return format("a sequence of {}", int64_t(v.items().size()));
    case Value::Kind::map:
      return format("a map of {} to {}", to_text(v.map().keys), to_text(v.map().values));
  }
  return {};
}

void Value::fail_kind(Kind expected) const {
  const char* names[] = {"nothing", "an empty optional", "a tensor", "strings", "a sequence", "a map"};
  fail<FormatError>("[onnx] expected {}: got {}", names[size_t(expected)], to_text(*this));
}

int64_t length_of(const Value& list) {
  const Shape& shape = list.is_strings() ? list.strings().shape : list.tensor().shape();
  require<FormatError>(shape.rank() == 1, "[onnx] the keys and the values of a map are lists: got {}", to_text(list));
  return shape[0];
}

Value value_of(const TensorDef& t) {
  if (t.type == ElementType::string) return make_ref<Strings>(t.shape, t.strings);
  Value v = Value::on_host(tensor_of(t, host_device()));
  if (element_type_of(v.tensor().dtype()) != t.type) v.set_element(t.type);
  return v;
}

// Elements of fewer than 8 bits share bytes, the first in the low bits: one each in the result.
static TensorHandle unpacked(const TensorDef& t, int bits, Device& device) {
  const DType dtype = dtype_of(int64_t(t.type));
  const bool has_sign = is_signed_integer(dtype);
  const std::span<const std::byte> packed = t.bytes.view();
  std::vector<uint8_t> elements(size_t(t.shape.numel()));
  for (size_t i = 0; i < elements.size(); ++i) {
    const auto shift = int(i * size_t(bits) % 8);
    const int v = int(packed[i * size_t(bits) / 8]) >> shift & ((1 << bits) - 1);
    elements[i] = uint8_t(has_sign && v >> (bits - 1) ? v - (1 << bits) : v);
  }
  return from_host(device, {elements.data(), {t.shape, dtype}});
}

TensorHandle tensor_of(const TensorDef& t, Device& device, bool alias) {
  const int bits = element_type_info(int64_t(t.type)).bits;
  if (bits > 0 && bits < 8) return unpacked(t, bits, device);
  return t.bytes.tensor({t.shape, dtype_of(int64_t(t.type))}, device, alias);
}

}  // namespace pyburn::onnx
