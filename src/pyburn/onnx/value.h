// What flows along the edges of an ONNX graph: a tensor, strings, a sequence, a map, or an optional.
#pragma once
#include <string>
#include <vector>

#include "pyburn/ir/op_info.h"
#include "pyburn/onnx/element_type.h"
#include "pyburn/onnx/model_proto.h"

namespace pyburn::onnx {

class Value;

// A tensor of strings lives in host memory.
struct Strings : Counted {
  Strings(Shape shape, std::vector<std::string> items) : shape(std::move(shape)), items(std::move(items)) {}
  Shape shape;
  std::vector<std::string> items;
};
struct Sequence;
struct Map;

// An optional that holds something is the value itself.
class Value {
 public:
  enum class Kind : uint8_t {
    absent,  // an input that is not given
    none,    // an optional that holds nothing
    tensor,
    strings,
    sequence,
    map,
  };
  Value() = default;
  Value(TensorHandle t) : kind_(t.defined() ? Kind::tensor : Kind::absent), tensor_(std::move(t)) {}
  Value(Ref<Strings> s) : kind_(Kind::strings), strings_(std::move(s)) {}
  Value(Ref<Sequence> s) : kind_(Kind::sequence), sequence_(std::move(s)) {}
  Value(Ref<Map> m) : kind_(Kind::map), map_(std::move(m)) {}
  static Value none() {
    Value v;
    v.kind_ = Kind::none;
    return v;
  }
  // A tensor of the plain CPU: shapes, and what is computed from them. Never recorded, never uploaded before a device needs it.
  static Value on_host(TensorHandle t) {
    Value v(std::move(t));
    v.host_ = true;
    return v;
  }

  // A constant of the host that has a copy on the device, for operators that compute there.
  static Value on_both(TensorHandle host, TensorHandle device) {
    Value v = on_host(std::move(host));
    v.device_copy_ = std::move(device);
    return v;
  }

  Kind kind() const { return kind_; }
  bool is_absent() const { return kind_ == Kind::absent; }
  bool is_none() const { return kind_ == Kind::none; }
  bool is_tensor() const { return kind_ == Kind::tensor; }
  bool is_strings() const { return kind_ == Kind::strings; }
  bool is_sequence() const { return kind_ == Kind::sequence; }
  bool is_map() const { return kind_ == Kind::map; }
  bool is_on_host() const { return host_; }

  const TensorHandle& tensor() const {  // FormatError for another kind
    require_kind(Kind::tensor);
    return tensor_;
  }
  // Of elements that no dtype stands for (operators/low_bits.h); else undefined.
  ElementType element() const { return element_; }
  void set_element(ElementType type) { element_ = type; }
  const TensorHandle& device_copy() const { return device_copy_; }
  const Strings& strings() const {
    require_kind(Kind::strings);
    return *strings_;
  }
  const std::vector<Value>& items() const;
  const Map& map() const;

 private:
  void require_kind(Kind expected) const {
    if (kind_ != expected) [[unlikely]]
      fail_kind(expected);
  }
  [[noreturn]] void fail_kind(Kind expected) const;

  Kind kind_ = Kind::absent;
  bool host_ = false;
  ElementType element_ = ElementType::undefined;
  TensorHandle tensor_, device_copy_;
  Ref<Strings> strings_;
  Ref<Sequence> sequence_;
  Ref<Map> map_;
};
using Values = std::vector<Value>;

struct Sequence : Counted {
  explicit Sequence(Values items) : items(std::move(items)) {}
  Values items;
};
inline const std::vector<Value>& Value::items() const {
  require_kind(Kind::sequence);
  return sequence_->items;
}

// A map, such as what a classifier gives for a row: keys and values in two lists of one length, each strings or a tensor of one axis on the
// host.
struct Map : Counted {
  Map(Value keys, Value values) : keys(std::move(keys)), values(std::move(values)) {}
  Value keys, values;
};
int64_t length_of(const Value& list);  // of keys or values; FormatError for anything else
inline const Map& Value::map() const {
  require_kind(Kind::map);
  return *map_;
}

std::string to_text(const Value&);  // "float32 (2, 3)", "a sequence of 3"

// The value of a tensor in a file: a tensor of the plain CPU, or strings. UnsupportedOp where no dtype holds its elements.
Value value_of(const TensorDef&);
// The same as a tensor on `device`; `alias`: in the mapped file itself, where the device can do that.
TensorHandle tensor_of(const TensorDef&, Device& device, bool alias = false);

}  // namespace pyburn::onnx
