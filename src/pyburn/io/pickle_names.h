// The names that PyTorch files may refer to, and the values they produce.
#pragma once
#include <deque>
#include <map>
#include <optional>

#include "pyburn/io/float8.h"
#include "pyburn/io/value.h"

namespace pyburn::io {

// Memory shared by tensors of a file.
struct StoredStorage {
  std::string key, location;   // the original device: "cpu", "cuda:0"
  std::optional<DType> dtype;  // absent: untyped bytes; each tensor has its own dtype
  uint64_t bytes = 0;
  SharedBytes data;   // set when the position in the file is known
  bool swap = false;  // written on a machine with the other byte order
};

struct StoredTensor {
  const StoredStorage* storage;
  DType dtype;
  Layout layout;                 // offset inside the storage
  std::optional<Float8> packed;  // the dtype in the file, if the elements are loaded as bfloat16
  Meta meta() const { return {layout.shape, dtype}; }
  uint64_t width() const { return packed ? 1 : uint64_t(size_of(dtype)); }  // bytes per element in the file
};

// State collected while reading a file, besides its values.
struct StoredTensors {
  std::deque<StoredStorage> storages;
  std::deque<StoredTensor> tensors;
  std::map<std::string, size_t> by_key;  // of storages
};

Value* allowed_name(Tree& tree, std::string_view name);  // null: unknown name
// The result of calling an allowed name. FormatError for invalid arguments.
Value* call_name(Tree& tree, StoredTensors& stored, const Value& callable, const std::vector<Value*>& arguments);
// ("storage", type, key, location, elements, ...): the same key returns the same storage.
Value* stored_storage(Tree& tree, StoredTensors& stored, const Value& id);

std::string_view storage_class(DType dtype);  // "FloatStorage"; empty for dtypes that are newer than these classes

}  // namespace pyburn::io
