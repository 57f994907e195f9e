// The contents of a PyTorch file: numbers, text, containers and tensors. A Tree owns its values; they may reference each other arbitrarily,
// so shared and recursive objects need no special handling.
#pragma once
#include <deque>
#include <string>
#include <vector>

#include "pyburn/tensor/handle.h"

namespace pyburn::io {

struct StoredTensor;

struct Value {
  enum class Kind : uint8_t {
    none,
    boolean,
    integer,
    big_integer,  // `text`: two's complement, little-endian
    real,
    complex,
    text,
    bytes,
    byte_array,
    list,
    tuple,
    size,  // a shape
    dict,
    ordered_dict,
    counter,  // a subclass of dict: collections.Counter
    set,
    frozen_set,
    tensor,
    dtype,
    device,    // `text`: "cpu", "cuda:0"
    foreign,   // `text`: the name of an unknown class, or of the class of an object; no code was executed to create it
    callable,  // while reading: an allowed name
    storage,   // while reading
  };
  Kind kind = Kind::none;
  bool boolean = false;          // of tensors: requires_grad
  bool parameter = false;        // of tensors
  DType dtype = DType::float32;  // of dtypes
  int64_t integer = 0;           // of storages and callables: their index
  double real = 0, imaginary = 0;
  std::string text;             // text, bytes, big integers, devices, names of callables
  std::vector<Value*> items;    // of dicts: key, value, key, value
  Value* attributes = nullptr;  // of ordered dicts: a dict such as the `_metadata` of state dicts; of foreign objects: their state
  TensorHandle tensor;
  const StoredTensor* stored = nullptr;  // a tensor that is stored in a file

  bool is_dict() const { return kind == Kind::dict || kind == Kind::ordered_dict || kind == Kind::counter; }
  bool is_text(std::string_view t) const { return kind == Kind::text && text == t; }
  const Value* find(std::string_view key) const;  // of a dict; null if there is no such key
  const Value& at(std::string_view key) const;    // as above; ValueError if there is no such key
};
std::string_view name_of(Value::Kind kind);        // "tuple", "Tensor": the type for messages
[[noreturn]] void refuse_foreign(const Value& v);  // FormatError with advice

class Tree {
 public:
  Tree() = default;
  Tree(Tree&&) = default;
  Tree& operator=(Tree&&) = default;

  Value* make(Value::Kind kind) { return &values_.emplace_back(Value{.kind = kind}); }
  Value* none();
  Value* boolean(bool v);
  Value* integer(int64_t v);
  Value* real(double v);
  Value* text(std::string v, Value::Kind kind = Value::Kind::text);
  Value* list(std::vector<Value*> items, Value::Kind kind = Value::Kind::list);
  Value* tensor(const TensorHandle& t);  // its flags are loaded
  std::deque<Value>& values() { return values_; }
  const std::deque<Value>& values() const { return values_; }

  Value* root = nullptr;

 private:
  std::deque<Value> values_;
  Value *none_ = nullptr, *true_ = nullptr, *false_ = nullptr;
};

// The tensors below a value, named by their path: "encoder.weight". Traverses dicts, and lists by index. A container that is referenced
// twice is listed twice, so names and entries are limited to kUnfoldingFactor times `file_bytes` (limits.h).
std::vector<std::pair<std::string, const Value*>> named_tensors(const Value& root, uint64_t file_bytes);

}  // namespace pyburn::io
