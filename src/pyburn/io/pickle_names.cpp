#include "pyburn/io/pickle_names.h"

#include <array>
#include <cstring>

#include "pyburn/support/error.h"

namespace pyburn::io {
namespace {

using K = Value::Kind;
using Arguments = std::vector<Value*>;

constexpr std::pair<DType, std::string_view> kStorageClasses[] = {{DType::float64, "DoubleStorage"}, {DType::float32, "FloatStorage"},
    {DType::float16, "HalfStorage"}, {DType::bfloat16, "BFloat16Storage"}, {DType::int8, "CharStorage"}, {DType::int16, "ShortStorage"},
    {DType::int32, "IntStorage"}, {DType::int64, "LongStorage"}, {DType::uint8, "ByteStorage"}, {DType::boolean, "BoolStorage"}};

void expect(bool ok, const Value& callable) { require<FormatError>(ok, "[pickle] '{}' is called with invalid arguments", callable.text); }

int64_t whole(const Value& v) {
  require<FormatError>(v.kind == K::integer, "[pytorch] expected an integer: got {}", name_of(v.kind));
  return v.integer;
}

Dims dims_of(const Value& v) {
  require<FormatError>(
      (v.kind == K::tuple || v.kind == K::size) && v.items.size() <= kMaxRank, "[pytorch] expected a shape: got {}", name_of(v.kind));
  Dims d;
  for (const Value* item : v.items) {
    d.push_back(whole(*item));
    require<FormatError>(d.back() >= 0, "[pytorch] negative extents and strides are not supported: got {}", d.back());
  }
  return d;
}

// A tensor must be inside its storage.
void check_layout(const StoredTensor& t, uint64_t bytes) {
  const Layout& l = t.layout;
  size_in_bytes(t.meta(), "a tensor");
  require<FormatError>(l.shape.size() == l.strides.size() && l.offset >= 0, "[pytorch] a tensor of shape {} has strides {} and offset {}",
      l.shape, l.strides, l.offset);
  if (l.numel() == 0) return;
  bool fits = true;
  int64_t last = l.offset;
  for (int i = 0; i < l.rank(); ++i) {
    int64_t way = 0;
    fits = fits && !__builtin_mul_overflow(l.shape[i] - 1, l.strides[i], &way) && !__builtin_add_overflow(last, way, &last);
  }
  require<FormatError>(fits && uint64_t(last) < bytes / t.width(),
      "[pytorch] a tensor is outside its storage: got shape {}, strides {} and offset {} in {} bytes", l.shape, l.strides, l.offset, bytes);
}

Value* rebuild_tensor(Tree& tree, StoredTensors& stored, const Value& self, const Arguments& a, bool has_dtype) {
  if (!a.empty() && a[0]->kind == K::foreign) return a[0];  // a storage of complex numbers
  const size_t least = has_dtype ? 7 : 4;
  expect(a.size() >= least && a.size() <= 8 && a[0]->kind == K::storage, self);
  const StoredStorage& storage = stored.storages[size_t(a[0]->integer)];
  const std::optional<Float8> packed = has_dtype && a[6]->kind == K::callable ? float8_from_torch(a[6]->text) : std::nullopt;
  expect(has_dtype ? packed || a[6]->kind == K::dtype : storage.dtype.has_value(), self);
  Value* v = tree.make(K::tensor);
  if (a.size() > 4) {
    expect(a[4]->kind == K::boolean, self);
    v->boolean = a[4]->boolean;
  }
  const DType dtype = packed ? DType::bfloat16 : has_dtype ? a[6]->dtype : *storage.dtype;
  StoredTensor t{&storage, dtype, {dims_of(*a[2]), dims_of(*a[3]), whole(*a[1])}, packed};
  check_layout(t, storage.bytes);
  v->stored = &stored.tensors.emplace_back(std::move(t));
  return v;
}

// (tensor, asks for a gradient, hooks, attributes)
Value* rebuild_parameter(Tree& tree, const Value& self, const Arguments& a) {
  if (!a.empty() && a[0]->kind == K::foreign) return a[0];
  expect(a.size() >= 2 && a[0]->kind == K::tensor && a[1]->kind == K::boolean, self);
  Value* v = tree.make(K::tensor);
  v->stored = a[0]->stored;
  v->boolean = a[1]->boolean;
  v->parameter = true;
  return v;
}

// (function, class, its arguments, attributes): tensors with attributes, which are left out.
Value* rebuild_from_type(Tree& tree, StoredTensors& stored, const Value& self, const Arguments& a) {
  expect(a.size() == 4 && a[0]->kind == K::callable && a[0]->text.starts_with("torch._utils.") && a[1]->kind == K::callable &&
             a[2]->kind == K::tuple,
      self);
  return call_name(tree, stored, *a[0], a[2]->items);
}

// str.encode(): how bytes are written in protocol 2.
Value* encode(Tree& tree, const Value& self, const Arguments& a) {
  expect(a.size() == 2 && a[0]->kind == K::text && (a[1]->is_text("latin1") || a[1]->is_text("latin-1")), self);
  const std::string& text = a[0]->text;
  std::string bytes;
  for (size_t i = 0; i < text.size(); ++i) {
    const auto c = uint8_t(text[i]);
    expect(c < 0x80 || c == 0xc2 || c == 0xc3, self);
    bytes += c < 0x80 ? char(c) : char((c & 3) << 6 | (text[++i] & 63));  // the text is valid UTF-8: one byte follows
  }
  return tree.text(std::move(bytes), K::bytes);
}

Value* collection(Tree& tree, const Value& self, const Arguments& a, K kind) {
  expect(a.empty() || (a.size() == 1 && (a[0]->kind == K::list || a[0]->kind == K::tuple)), self);
  Value* v = tree.make(kind);
  if (a.empty()) return v;
  for (const Value* item : a[0]->items) expect(item->kind <= K::bytes || item->kind == K::dtype, self);  // what can be hashed in no time
  v->items = a[0]->items;
  return v;
}

Value* ordered_dict(Tree& tree, const Value& self, const Arguments& a) {
  expect(a.empty() || (a.size() == 1 && a[0]->kind == K::list), self);
  Value* v = tree.make(K::ordered_dict);
  if (a.empty()) return v;
  for (const Value* pair : a[0]->items) {
    expect((pair->kind == K::list || pair->kind == K::tuple) && pair->items.size() == 2 && pair->items[0]->kind <= K::bytes, self);
    v->items.insert(v->items.end(), pair->items.begin(), pair->items.end());
  }
  return v;
}

Value* counter(Tree& tree, const Value& self, const Arguments& a) {
  expect(a.empty() || (a.size() == 1 && a[0]->kind == K::dict), self);
  return tree.list(a.empty() ? std::vector<Value*>() : a[0]->items, K::counter);
}

Value* size(Tree& tree, const Value& self, const Arguments& a) {
  expect(a.size() == 1, self);
  dims_of(*a[0]);
  return tree.list(a[0]->items, K::size);
}

Value* device(Tree& tree, const Value& self, const Arguments& a) {
  expect((a.size() == 1 || a.size() == 2) && a[0]->kind == K::text, self);
  return tree.text(a[0]->text + (a.size() == 2 ? ":" + std::to_string(whole(*a[1])) : ""), K::device);
}

Value* complex(Tree& tree, const Value& self, const Arguments& a) {
  expect(a.size() == 2 && a[0]->kind == K::real && a[1]->kind == K::real, self);
  Value* v = tree.make(K::complex);
  v->real = a[0]->real, v->imaginary = a[1]->real;
  return v;
}

Value* byte_array(Tree& tree, const Value& self, const Arguments& a) {
  expect(a.empty() || (a.size() == 1 && a[0]->kind == K::bytes), self);
  return tree.text(a.empty() ? "" : a[0]->text, K::byte_array);
}

Value* no_bytes(Tree& tree, const Value& self, const Arguments& a) {  // how b"" is written in protocol 2
  expect(a.empty(), self);
  return tree.text("", K::bytes);
}

// A number of numpy: (dtype, bytes). The state of a dtype is (version, byte order, ...). Kinds that are not known stay foreign.
Value* numpy_scalar(Tree& tree, const Value& self, const Arguments& a) {
  expect(a.size() == 2 && a[0]->kind == K::foreign && a[1]->kind == K::bytes, self);
  const std::string dtype = a[0]->items.empty() ? "" : a[0]->items[0]->text;
  const std::string& bytes = a[1]->text;
  const auto as = [&]<class T>(T) {
    T v;
    std::memcpy(&v, bytes.data(), sizeof v);
    return v;
  };
  const Value* state = a[0]->attributes;
  const bool plain_order = state && state->kind == K::tuple && state->items.size() > 1 && !state->items[1]->is_text(">");
  const bool sized = plain_order && dtype.size() == 2 && bytes.size() == size_t(dtype[1] - '0');
  if (sized && dtype == "f8") return tree.real(as(double()));
  if (sized && dtype == "f4") return tree.real(as(float()));
  if (sized && dtype == "i8") return tree.integer(as(int64_t()));
  if (sized && dtype == "i4") return tree.integer(as(int32_t()));
  if (sized && dtype == "b1") return tree.boolean(as(uint8_t()) != 0);
  return tree.text("numpy scalar of an unsupported type", K::foreign);
}

using Call = Value* (*)(Tree&, StoredTensors&, const Value& self, const Arguments&);

Value* not_callable(Tree&, StoredTensors&, const Value& self, const Arguments&) {
  fail<FormatError>("[pickle] '{}' is not allowed to be called", self.text);
}
template <Value* (*function)(Tree&, const Value&, const Arguments&)>
Value* plain(Tree& tree, StoredTensors&, const Value& self, const Arguments& a) {
  return function(tree, self, a);
}
template <K kind>
Value* collected(Tree& tree, StoredTensors&, const Value& self, const Arguments& a) {
  return collection(tree, self, a, kind);
}
template <bool has_dtype>
Value* rebuilt(Tree& tree, StoredTensors& stored, const Value& self, const Arguments& a) {
  return rebuild_tensor(tree, stored, self, a, has_dtype);
}

constexpr std::pair<std::string_view, Call> kCalls[] = {
    {"collections.OrderedDict", plain<ordered_dict>},
    {"collections.Counter", plain<counter>},
    {"builtins.set", collected<K::set>},
    {"builtins.frozenset", collected<K::frozen_set>},
    {"builtins.bytearray", plain<byte_array>},
    {"builtins.bytes", plain<no_bytes>},
    {"builtins.complex", plain<complex>},
    {"_codecs.encode", plain<encode>},
    {"torch.Size", plain<size>},
    {"torch.device", plain<device>},
    {"torch._utils._rebuild_tensor", rebuilt<false>},
    {"torch._utils._rebuild_tensor_v2", rebuilt<false>},
    {"torch._utils._rebuild_tensor_v3", rebuilt<true>},
    {"torch._utils._rebuild_parameter", plain<rebuild_parameter>},
    {"torch._utils._rebuild_parameter_with_state", plain<rebuild_parameter>},
    {"torch._tensor._rebuild_from_type_v2", rebuild_from_type},
    {"numpy._core.multiarray.scalar", plain<numpy_scalar>},
    {"numpy.core.multiarray.scalar", plain<numpy_scalar>},
    {"torch.Tensor", not_callable},
    {"torch.nn.parameter.Parameter", not_callable},
    {"torch.storage.UntypedStorage", not_callable},
};

// "FloatStorage" of torch or torch.cuda.
std::optional<DType> storage_dtype(std::string_view name) {
  for (std::string_view prefix : {"torch.cuda.", "torch."})
    if (name.starts_with(prefix))
      for (const auto& [dtype, known] : kStorageClasses)
        if (name.substr(prefix.size()) == known) return dtype;
  return std::nullopt;
}

}  // namespace

std::string_view storage_class(DType dtype) {
  for (const auto& [known, name] : kStorageClasses)
    if (known == dtype) return name;
  return {};
}

Value* allowed_name(Tree& tree, std::string_view name) {
  if (const std::optional<DType> dtype = name.starts_with("torch.") ? find_dtype(name.substr(6)) : std::nullopt) {
    Value* v = tree.make(K::dtype);
    v->dtype = *dtype;
    return v;
  }
  bool known = storage_dtype(name) || float8_from_torch(name);
  for (const auto& [allowed, call] : kCalls) known = known || allowed == name;
  return known ? tree.text(std::string(name), K::callable) : nullptr;
}

Value* call_name(Tree& tree, StoredTensors& stored, const Value& callable, const std::vector<Value*>& arguments) {
  for (const auto& [name, call] : kCalls)
    if (name == callable.text) return call(tree, stored, callable, arguments);
  return not_callable(tree, stored, callable, arguments);
}

Value* stored_storage(Tree& tree, StoredTensors& stored, const Value& id) {
  const auto& a = id.items;
  require<FormatError>(id.kind == K::tuple && a.size() >= 2, "[pytorch] a persistent id is not a storage");
  if (a[0]->is_text("module") && a[1]->kind == K::foreign) return a[1];  // a class, with the text of its source, in files from before zip
  require<FormatError>(a.size() >= 5 && a[0]->is_text("storage"), "[pytorch] a persistent id is not a storage");
  require<FormatError>((a[1]->kind == K::callable || a[1]->kind == K::foreign) && a[2]->kind == K::text && a[3]->kind == K::text,
      "[pytorch] a storage is damaged");
  require<FormatError>(a.size() == 5 || a[5]->kind == K::none, "[pytorch] storages that are views of others are not supported");
  StoredStorage s{a[2]->text, a[3]->text, storage_dtype(a[1]->text), 0, {}, false};
  if (!s.dtype && a[1]->text != "torch.storage.UntypedStorage") return tree.text(a[1]->text, K::foreign);
  const int64_t elements = whole(*a[4]);
  s.bytes = size_in_bytes({Shape{elements}, s.dtype.value_or(DType::uint8)}, s.key);
  Value* v = tree.make(K::storage);
  const auto [known, fresh] = stored.by_key.emplace(s.key, stored.storages.size());
  v->integer = int64_t(known->second);
  if (fresh) {
    stored.storages.push_back(std::move(s));
    return v;
  }
  const StoredStorage& before = stored.storages[known->second];
  require<FormatError>(before.bytes == s.bytes && before.dtype == s.dtype, "[pytorch] storage '{}' is described in two ways", s.key);
  return v;
}

}  // namespace pyburn::io
