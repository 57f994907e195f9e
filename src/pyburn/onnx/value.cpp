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
  }
  return {};
}

void Value::fail_kind(Kind expected) const {
  const char* names[] = {"nothing", "an empty optional", "a tensor", "strings", "a sequence"};
  fail<FormatError>("[onnx] expected {}: got {}", names[size_t(expected)], to_text(*this));
}

Value value_of(const TensorDef& t) {
  if (t.type == ElementType::string) return make_ref<Strings>(t.shape, t.strings);
  return Value::on_host(tensor_of(t, host_device()));
}

TensorHandle tensor_of(const TensorDef& t, Device& device, bool alias) {
  return t.bytes.tensor({t.shape, dtype_of(int64_t(t.type))}, device, alias);
}

}  // namespace pyburn::onnx
