#include "pyburn/io/pickle_read.h"

#include <bit>

#include "pyburn/io/pickle_opcodes.h"

namespace pyburn::io {
namespace {

using namespace pickle;
using K = Value::Kind;

constexpr size_t kLongestName = 200;
constexpr size_t kLargestKey = 64;  // items of a tuple, bytes of an integer: what is hashed again at each use

std::string printable_opcode(uint8_t opcode) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string text = std::string("0x") + kDigits[opcode >> 4] + kDigits[opcode & 15];
  if (opcode > 32 && opcode < 127) text += std::string(" '") + char(opcode) + "'";
  return text;
}

}  // namespace

Value* PickleReader::read() {
  stack_.clear();
  memo_.clear();
  while (step(cursor_.number<uint8_t>())) {
  }
  require<FormatError>(stack_.size() == 1 && stack_[0], "[pickle] the pickle does not leave exactly one object");
  return stack_[0];
}

bool PickleReader::step(uint8_t opcode) {
  switch (opcode) {
    case kStop:
      return false;
    case kProto: {
      const auto version = cursor_.number<uint8_t>();
      require<FormatError>(version <= kHighestProtocol, "[pickle] unsupported protocol: got {}", version);
      return true;
    }
    case kFrame:
      cursor_.number<uint64_t>();
      return true;
    case kMark:
      push(nullptr);
      return true;
    case kPop:
      require<FormatError>(!stack_.empty(), "[pickle] the stack is empty");
      stack_.pop_back();
      return true;
    case kPopMark:
      pop_to_mark();
      return true;
    case kDup:
      push(&top());
      return true;
    default:
      break;
  }
  const bool known = push_number(opcode) || push_text(opcode) || push_container(opcode) || change_container(opcode) || use_memo(opcode) ||
                     use_names(opcode);
  require<FormatError>(known, "[pickle] unsupported opcode: got {}", printable_opcode(opcode));
  return true;
}

bool PickleReader::push_number(uint8_t opcode) {
  switch (opcode) {
    case kNone:
      push(tree_.none());
      return true;
    case kNewTrue:
    case kNewFalse:
      push(tree_.boolean(opcode == kNewTrue));
      return true;
    case kBinInt:
      push(tree_.integer(cursor_.number<int32_t>()));
      return true;
    case kBinInt1:
      push(tree_.integer(cursor_.number<uint8_t>()));
      return true;
    case kBinInt2:
      push(tree_.integer(cursor_.number<uint16_t>()));
      return true;
    case kLong1:
      push(long_integer(cursor_.number<uint8_t>()));
      return true;
    case kLong4:
      push(long_integer(cursor_.number<uint32_t>()));
      return true;
    case kBinFloat:
      push(tree_.real(std::bit_cast<double>(__builtin_bswap64(cursor_.number<uint64_t>()))));
      return true;
    default:
      return false;
  }
}

bool PickleReader::push_text(uint8_t opcode) {
  const auto bytes = [&](uint64_t count, K kind) { push(tree_.text(std::string(cursor_.text(count)), kind)); };
  switch (opcode) {
    case kBinUnicode:
      push(text_of(cursor_.number<uint32_t>()));
      return true;
    case kShortBinUnicode:
      push(text_of(cursor_.number<uint8_t>()));
      return true;
    case kBinUnicode8:
      push(text_of(cursor_.number<uint64_t>()));
      return true;
    case kShortBinString:  // Python 2: text in files of its time
      push(text_of(cursor_.number<uint8_t>()));
      return true;
    case kBinString:
      push(text_of(cursor_.number<uint32_t>()));
      return true;
    case kShortBinBytes:
      bytes(cursor_.number<uint8_t>(), K::bytes);
      return true;
    case kBinBytes:
      bytes(cursor_.number<uint32_t>(), K::bytes);
      return true;
    case kBinBytes8:
      bytes(cursor_.number<uint64_t>(), K::bytes);
      return true;
    case kByteArray8:
      bytes(cursor_.number<uint64_t>(), K::byte_array);
      return true;
    default:
      return false;
  }
}

bool PickleReader::push_container(uint8_t opcode) {
  const auto last = [&](size_t count) {
    std::vector<Value*> items(count);
    for (size_t i = count; i-- > 0;) items[i] = pop();
    push(tree_.list(std::move(items), K::tuple));
  };
  switch (opcode) {
    case kEmptyList:
      push(tree_.make(K::list));
      return true;
    case kEmptyDict:
      push(tree_.make(K::dict));
      return true;
    case kEmptySet:
      push(tree_.make(K::set));
      return true;
    case kEmptyTuple:
      push(tree_.make(K::tuple));
      return true;
    case kTuple1:
    case kTuple2:
    case kTuple3:
      last(size_t(opcode - kTuple1) + 1);
      return true;
    case kTuple: {
      std::vector<Value*> items = pop_to_mark();
      push(tree_.list(std::move(items), K::tuple));
      return true;
    }
    case kFrozenSet: {
      std::vector<Value*> items = pop_to_mark();
      check_hashable(items, 1);
      push(tree_.list(std::move(items), K::frozen_set));
      return true;
    }
    default:
      return false;
  }
}

bool PickleReader::change_container(uint8_t opcode) {
  switch (opcode) {
    case kAppend: {
      Value* item = pop();
      append(top(), {item});
      return true;
    }
    case kAppends: {
      const std::vector<Value*> items = pop_to_mark();
      append(top(), items);
      return true;
    }
    case kSetItem: {
      Value *value = pop(), *key = pop();
      set_items(top(), {key, value});
      return true;
    }
    case kSetItems: {
      const std::vector<Value*> items = pop_to_mark();
      set_items(top(), items);
      return true;
    }
    case kAddItems: {
      const std::vector<Value*> items = pop_to_mark();
      if (top().kind == K::foreign) return true;
      require<FormatError>(top().kind == K::set, "[pickle] expected a set: got {}", name_of(top().kind));
      check_hashable(items, 1);
      top().items.insert(top().items.end(), items.begin(), items.end());
      return true;
    }
    case kBuild: {
      Value* state = pop();
      build(top(), state);
      return true;
    }
    default:
      return false;
  }
}

bool PickleReader::use_memo(uint8_t opcode) {
  switch (opcode) {
    case kBinPut:
      put(cursor_.number<uint8_t>());
      return true;
    case kLongBinPut:
      put(cursor_.number<uint32_t>());
      return true;
    case kMemoize:
      put(memo_.size());
      return true;
    case kBinGet:
      get(cursor_.number<uint8_t>());
      return true;
    case kLongBinGet:
      get(cursor_.number<uint32_t>());
      return true;
    default:
      return false;
  }
}

bool PickleReader::use_names(uint8_t opcode) {
  switch (opcode) {
    case kGlobal: {
      const std::string_view module = cursor_.line(), name = cursor_.line();
      push(global(module, name));
      return true;
    }
    case kStackGlobal: {
      const Value *name = pop(), *module = pop();
      require<FormatError>(name->kind == K::text && module->kind == K::text, "[pickle] a name must be a string");
      push(global(module->text, name->text));
      return true;
    }
    case kReduce:
    case kNewObj: {
      const Value *arguments = pop(), *callable = pop();
      push(reduce(*callable, *arguments));
      return true;
    }
    case kNewObjEx: {
      pop();  // arguments by name, which nothing takes that is known here
      const Value *arguments = pop(), *callable = pop();
      require<FormatError>(callable->kind == K::foreign, "[pickle] '{}' takes no keyword arguments", callable->text);
      push(reduce(*callable, *arguments));
      return true;
    }
    case kBinPersId: {
      require<FormatError>(bool(persistent), "[pickle] an unexpected persistent id");
      push(persistent(*pop()));
      return true;
    }
    default:
      return false;
  }
}

Value* PickleReader::pop() {
  require<FormatError>(!stack_.empty() && stack_.back(), "[pickle] the stack is empty");
  Value* v = stack_.back();
  stack_.pop_back();
  return v;
}

Value& PickleReader::top() {
  require<FormatError>(!stack_.empty() && stack_.back(), "[pickle] the stack is empty");
  return *stack_.back();
}

std::vector<Value*> PickleReader::pop_to_mark() {
  size_t first = stack_.size();
  while (first > 0 && stack_[first - 1]) --first;
  require<FormatError>(first > 0, "[pickle] a mark is missing");
  std::vector<Value*> items(stack_.begin() + ptrdiff_t(first), stack_.end());
  stack_.resize(first - 1);
  return items;
}

void PickleReader::put(uint64_t index) { memo_[index] = &top(); }

void PickleReader::get(uint64_t index) {
  const auto it = memo_.find(index);
  require<FormatError>(it != memo_.end(), "[pickle] the memo has no entry {}", index);
  push(it->second);
}

Value* PickleReader::long_integer(uint64_t bytes) {
  const std::string_view digits = cursor_.text(bytes);
  if (digits.size() > 8) return tree_.text(std::string(digits), K::big_integer);
  uint64_t v = digits.empty() || !(digits.back() & 0x80) ? 0 : ~uint64_t(0);
  for (size_t i = digits.size(); i-- > 0;) v = v << 8 | uint8_t(digits[i]);
  return tree_.integer(int64_t(v));
}

Value* PickleReader::text_of(uint64_t bytes) {
  const std::string_view text = cursor_.text(bytes);
  require<FormatError>(is_utf8(text), "[pickle] a string is not valid UTF-8");
  return tree_.text(std::string(text));
}

void PickleReader::append(Value& target, const std::vector<Value*>& items) {
  if (target.kind == K::foreign) return;  // its contents are ignored
  require<FormatError>(target.kind == K::list, "[pickle] expected a list: got {}", name_of(target.kind));
  target.items.insert(target.items.end(), items.begin(), items.end());
}

void PickleReader::set_items(Value& target, const std::vector<Value*>& items) {
  if (target.kind == K::foreign) return;
  require<FormatError>(target.is_dict(), "[pickle] expected a dict: got {}", name_of(target.kind));
  require<FormatError>(items.size() % 2 == 0, "[pickle] a key without a value");
  check_hashable(items, 2);
  target.items.insert(target.items.end(), items.begin(), items.end());
}

// Keys are plain values or flat tuples of them: hashing tuples that contain each other could take for ever.
void PickleReader::check_hashable(const std::vector<Value*>& keys, size_t step) const {
  const auto plain = [](const Value& v) {
    return v.kind == K::big_integer ? v.text.size() <= kLargestKey
                                    : v.kind <= K::bytes || v.kind == K::dtype || v.kind == K::device || v.kind == K::foreign;
  };
  for (size_t i = 0; i < keys.size(); i += step) {
    const Value& key = *keys[i];
    bool ok = plain(key);
    if (key.kind == K::tuple || key.kind == K::size) {
      ok = key.items.size() <= kLargestKey;
      for (const Value* item : key.items) ok = ok && plain(*item);
    }
    require<FormatError>(ok, "[pickle] unsupported type of key: got {}", name_of(key.kind));
  }
}

Value* PickleReader::global(std::string_view module, std::string_view name) {
  if (module == "__builtin__") module = "builtins";  // as Python 2 called it
  const std::string full = std::string(module) + "." + std::string(name);
  if (Value* v = names ? names(full) : nullptr) return v;
  return tree_.text(is_utf8(full) ? full.substr(0, kLongestName) : "(not a name)", K::foreign);
}

Value* PickleReader::reduce(const Value& callable, const Value& arguments) {
  const bool foreign = callable.kind == K::foreign;
  require<FormatError>((foreign || callable.kind == K::callable) && arguments.kind == K::tuple,
      "[pickle] only allowed names can be called: got {} with {}", name_of(callable.kind), name_of(arguments.kind));
  uint64_t copied = arguments.items.size();
  for (const Value* a : arguments.items) copied += a->items.size() + a->text.size();
  require<FormatError>(copied <= may_copy_, "[pickle] the file expands beyond its limit (kUnfoldingFactor in io/limits.h)");
  may_copy_ -= copied;
  if (!foreign) return call(callable, arguments.items);
  Value* object = tree_.text(callable.text, K::foreign);
  object->items = arguments.items;
  return object;
}

// State dicts of modules have attributes: their version numbers.
void PickleReader::build(Value& target, Value* state) {
  if (target.kind == K::foreign) {
    target.attributes = state;
    return;
  }
  require<FormatError>(
      target.kind == K::ordered_dict && state->kind == K::dict, "[pickle] cannot set the state of a {}", name_of(target.kind));
  for (size_t i = 0; i < state->items.size(); i += 2)
    require<FormatError>(state->items[i]->kind == K::text, "[pickle] the name of an attribute must be a string");
  target.attributes = state;
}

}  // namespace pyburn::io
