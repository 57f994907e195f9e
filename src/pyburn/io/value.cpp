#include "pyburn/io/value.h"

#include <set>

#include "pyburn/io/limits.h"
#include "pyburn/support/error.h"

namespace pyburn::io {
namespace {

class TensorList {
 public:
  explicit TensorList(uint64_t budget) : budget_(budget) {}
  void collect(const Value& v, const std::string& name, int depth) {
    const uint64_t cost = 1 + name.size();
    require<FormatError>(cost <= budget_,
        "[pytorch] the file expands beyond its limit (kUnfoldingFactor in io/limits.h): its containers reference each other");
    budget_ -= cost;
    if (v.kind == Value::Kind::tensor) {
      list.emplace_back(name, &v);
      return;
    }
    const bool sequence = v.kind == Value::Kind::list || v.kind == Value::Kind::tuple;
    if (!v.is_dict() && !sequence) return;
    require<FormatError>(depth < kDeepestTensor && above_.insert(&v).second,
        "[pytorch] containers are nested too deeply or contain themselves at '{}'", name.substr(0, 200));
    const auto below = [&](const std::string& key) { return name.empty() ? key : name + "." + key; };
    for (size_t i = 0; sequence && i < v.items.size(); ++i) collect(*v.items[i], below(std::to_string(i)), depth + 1);
    for (size_t i = 0; !sequence && i + 1 < v.items.size(); i += 2) {
      const Value& key = *v.items[i];
      if (key.kind == Value::Kind::text) collect(*v.items[i + 1], below(key.text), depth + 1);
      else if (key.kind == Value::Kind::integer) collect(*v.items[i + 1], below(std::to_string(key.integer)), depth + 1);
    }
    above_.erase(&v);
  }
  std::vector<std::pair<std::string, const Value*>> list;

 private:
  uint64_t budget_;
  std::set<const Value*> above_;
};

}  // namespace

std::string_view name_of(Value::Kind kind) {
  using K = Value::Kind;
  switch (kind) {
    case K::none:
      return "None";
    case K::boolean:
      return "bool";
    case K::integer:
    case K::big_integer:
      return "int";
    case K::real:
      return "float";
    case K::complex:
      return "complex";
    case K::text:
      return "str";
    case K::bytes:
      return "bytes";
    case K::byte_array:
      return "bytearray";
    case K::list:
      return "list";
    case K::tuple:
      return "tuple";
    case K::size:
      return "Size";
    case K::dict:
      return "dict";
    case K::ordered_dict:
      return "OrderedDict";
    case K::counter:
      return "Counter";
    case K::set:
      return "set";
    case K::frozen_set:
      return "frozenset";
    case K::tensor:
      return "Tensor";
    case K::dtype:
      return "dtype";
    case K::device:
      return "device";
    case K::foreign:
      return "foreign object";
    case K::callable:
      return "function or class";
    case K::storage:
      return "storage";
  }
  return "";
}

void refuse_foreign(const Value& v) {
  fail<FormatError>(
      "[pickle] '{}' is not allowed: a file may contain tensors, numbers, strings and containers; code in it is never executed. Where the "
      "file was created, "
      "save "
      "what is needed of the object: of a model or an optimiser, its state_dict(). Tensors beside it: io.open_tensors(file, key=...)",
      v.text);
}

const Value* Value::find(std::string_view key) const {
  if (!is_dict()) return nullptr;
  for (size_t i = items.size(); i >= 2; i -= 2)  // what was set last counts
    if (items[i - 2]->is_text(key)) return items[i - 1];
  return nullptr;
}
const Value& Value::at(std::string_view key) const {
  const Value* v = find(key);
  require<ValueError>(v, "[pytorch] no such key: got '{}' in a {}", key, name_of(kind));
  return *v;
}

Value* Tree::none() { return none_ ? none_ : none_ = make(Value::Kind::none); }
Value* Tree::boolean(bool v) {
  Value*& slot = v ? true_ : false_;
  if (!slot) slot = make(Value::Kind::boolean), slot->boolean = v;
  return slot;
}
Value* Tree::integer(int64_t v) {
  Value* made = make(Value::Kind::integer);
  made->integer = v;
  return made;
}
Value* Tree::real(double v) {
  Value* made = make(Value::Kind::real);
  made->real = v;
  return made;
}
Value* Tree::text(std::string v, Value::Kind kind) {
  Value* made = make(kind);
  made->text = std::move(v);
  return made;
}
Value* Tree::list(std::vector<Value*> items, Value::Kind kind) {
  Value* made = make(kind);
  made->items = std::move(items);
  return made;
}
Value* Tree::tensor(const TensorHandle& t) {
  Value* made = make(Value::Kind::tensor);
  made->tensor = t;
  made->boolean = t.requires_grad();
  made->parameter = t.has(Flag::parameter);
  return made;
}

std::vector<std::pair<std::string, const Value*>> named_tensors(const Value& root, uint64_t file_bytes) {
  TensorList tensors(file_bytes * kUnfoldingFactor + kUnfoldingFree);
  tensors.collect(root, "", 0);
  return std::move(tensors.list);
}

}  // namespace pyburn::io
