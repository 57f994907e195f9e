// The names that PyTorch files may use, and what becomes of them.
#pragma once
#include <deque>
#include <map>
#include <optional>

#include "pyburn/io/float8.h"
#include "pyburn/io/value.h"

namespace pyburn::io {

// Memory that tensors of a file share.
struct StoredStorage {
  std::string key, location;   // "cpu", "cuda:0": where it was
  std::optional<DType> dtype;  // absent: bytes, whose dtype each tensor brings along
  uint64_t bytes = 0;
  SharedBytes data;   // set when it is known where they lie
  bool swap = false;  // written on a machine of the other byte order
};

struct StoredTensor {
  const StoredStorage* storage;
  DType dtype;
  Layout layout;                 // inside the storage
  std::optional<Float8> packed;  // what the elements are in the file, where they are bfloat16 here
  Meta meta() const { return {layout.shape, dtype}; }
  uint64_t width() const { return packed ? 1 : uint64_t(size_of(dtype)); }  // bytes of an element in the file
};

// What reading a file makes beside its values.
struct StoredTensors {
  std::deque<StoredStorage> storages;
  std::deque<StoredTensor> tensors;
  std::map<std::string, size_t> by_key;  // of storages
};

Value* allowed_name(Tree& tree, std::string_view name);  // null: not known
// What calling an allowed name gives. FormatError where the arguments do not fit.
Value* call_name(Tree& tree, StoredTensors& stored, const Value& callable, const std::vector<Value*>& arguments);
// ("storage", type, key, location, elements, ...): the same storage for the same key.
Value* stored_storage(Tree& tree, StoredTensors& stored, const Value& id);

std::string_view storage_class(DType dtype);  // "FloatStorage"; empty for dtypes that are younger than these classes

}  // namespace pyburn::io
