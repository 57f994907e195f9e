// Writes pickles of protocol 2, as torch.save() does.
#pragma once
#include <functional>
#include <map>
#include <unordered_map>

#include "pyburn/io/byte_builder.h"
#include "pyburn/io/value.h"

namespace pyburn::io {

// The persistent id of a tensor's storage.
struct StorageId {
  std::string key;
  int64_t elements = 0;
  Layout layout;  // offset inside the storage
};

class PickleWriter {
 public:
  using NameStorage = std::function<StorageId(const Value& tensor)>;
  explicit PickleWriter(NameStorage name_storage) : name_storage_(std::move(name_storage)) {}
  std::vector<std::byte> write(const Value& root);

 private:
  void value(const Value& v);
  void fresh(const Value& v);
  void integer(int64_t v);
  void big_integer(const std::string& bytes);
  void text(const std::string& v);
  void raw_bytes(const std::string& v);
  void tuple(const std::vector<Value*>& items);
  void items(const Value& list);
  void pairs(const Value& dict);
  void dims(const Dims& v);
  void global(const char* module, const std::string& name);
  void call_with_list(const char* module, const char* name, const Value& v);
  void empty_ordered_dict();
  void tensor(const Value& v);
  void parameter_or_tensor(const Value& v);
  void op(uint8_t opcode) { out_.number(opcode); }
  void remember(const Value& v);

  NameStorage name_storage_;
  ByteBuilder out_;
  std::unordered_map<const Value*, uint32_t> memo_;
  std::map<std::string, uint32_t> global_memo_;
  uint32_t remembered_ = 0;
  int depth_ = 0;
};

}  // namespace pyburn::io
