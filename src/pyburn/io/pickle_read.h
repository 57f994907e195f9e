// Reads pickles without running anything: a machine for the opcodes of protocols 2 to 5, and a short list of names that
// may occur in PyTorch files. Objects of any other class become `foreign` values, about which nothing is known but the name; whatever else
// does not fit is a FormatError that says what was refused.
#pragma once
#include <functional>
#include <unordered_map>

#include "pyburn/io/byte_cursor.h"
#include "pyburn/io/limits.h"
#include "pyburn/io/value.h"

namespace pyburn::io {

class PickleReader {
 public:
  // `persistent` gives the value that an id from outside of the pickle stands for: storages of tensors.
  using Persistent = std::function<Value*(const Value& id)>;
  // Makes the value for a name (module and name, joined by a dot), or null where the name is not known: it stays foreign.
  using Names = std::function<Value*(std::string_view name)>;
  using Call = std::function<Value*(const Value& callable, const std::vector<Value*>& arguments)>;

  PickleReader(std::span<const std::byte> bytes, Tree& tree)
      : cursor_(bytes, "pickle"), tree_(tree), may_copy_(bytes.size() * kUnfoldingFactor + kUnfoldingFree) {}
  Value* read();                                      // the next pickle of the bytes
  size_t used() const { return cursor_.position(); }  // bytes read so far

  Persistent persistent;
  Names names;
  Call call;

 private:
  bool step(uint8_t opcode);  // false: the pickle has ended
  bool push_number(uint8_t opcode);
  bool push_text(uint8_t opcode);
  bool push_container(uint8_t opcode);
  bool change_container(uint8_t opcode);
  bool use_memo(uint8_t opcode);
  bool use_names(uint8_t opcode);

  void push(Value* v) { stack_.push_back(v); }
  Value* pop();
  Value& top();
  std::vector<Value*> pop_to_mark();
  void put(uint64_t index);
  void get(uint64_t index);
  Value* long_integer(uint64_t bytes);
  Value* text_of(uint64_t bytes);
  void append(Value& target, const std::vector<Value*>& items);
  void set_items(Value& target, const std::vector<Value*>& items);
  void check_hashable(const std::vector<Value*>& keys, size_t step) const;
  Value* global(std::string_view module, std::string_view name);
  Value* reduce(const Value& callable, const Value& arguments);
  void build(Value& target, Value* state);

  ByteCursor cursor_;
  Tree& tree_;
  uint64_t may_copy_;          // calls copy their arguments, which a hostile file may repeat: bytes and items left for that
  std::vector<Value*> stack_;  // a null is a mark
  std::unordered_map<uint64_t, Value*> memo_;
};

}  // namespace pyburn::io
