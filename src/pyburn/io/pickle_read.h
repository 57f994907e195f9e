// Reads pickles without executing code: an interpreter for the opcodes of protocols 2 to 5, with a short list of names allowed in PyTorch
// files. Objects of other classes become `foreign` values, of which only the name is known; anything else that is not supported is a
// FormatError that says what was refused.
#pragma once
#include <functional>
#include <unordered_map>

#include "pyburn/io/byte_cursor.h"
#include "pyburn/io/limits.h"
#include "pyburn/io/value.h"

namespace pyburn::io {

class PickleReader {
 public:
  // `persistent` resolves persistent ids: the storages of tensors.
  using Persistent = std::function<Value*(const Value& id)>;
  // Creates the value for a name (module and name, joined by a dot); null if it is unknown, which makes the value foreign.
  using Names = std::function<Value*(std::string_view name)>;
  using Call = std::function<Value*(const Value& callable, const std::vector<Value*>& arguments)>;

  PickleReader(std::span<const std::byte> bytes, Tree& tree)
      : cursor_(bytes, "pickle"), tree_(tree), may_copy_(bytes.size() * kUnfoldingFactor + kUnfoldingFree) {}
  Value* read();                                      // reads the next pickle of the data
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
  uint64_t may_copy_;          // remaining budget in bytes and items: calls copy their arguments, which a hostile file may repeat
  std::vector<Value*> stack_;  // a null is a mark
  std::unordered_map<uint64_t, Value*> memo_;
};

}  // namespace pyburn::io
