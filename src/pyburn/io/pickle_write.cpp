#include "pyburn/io/pickle_write.h"

#include <bit>

#include "pyburn/io/pickle_names.h"
#include "pyburn/io/pickle_opcodes.h"
#include "pyburn/support/error.h"

namespace pyburn::io {
namespace {

using namespace pickle;
using K = Value::Kind;

constexpr int kDeepest = 500;  // Python's unpickler itself is recursive no further than 1000 levels

}  // namespace

std::vector<std::byte> PickleWriter::write(const Value& root) {
  op(kProto);
  op(2);
  value(root);
  op(kStop);
  return out_.take();
}

void PickleWriter::remember(const Value& v) {
  memo_[&v] = remembered_;
  op(kLongBinPut);
  out_.number(remembered_++);
}

void PickleWriter::value(const Value& v) {
  if (const auto it = memo_.find(&v); it != memo_.end()) {
    op(kLongBinGet);
    out_.number(it->second);
    return;
  }
  require<ValueError>(++depth_ < kDeepest, "[save] containers are nested too deeply");
  fresh(v);
  --depth_;
}

void PickleWriter::fresh(const Value& v) {
  switch (v.kind) {
    case K::none:
      return op(kNone);
    case K::boolean:
      return op(v.boolean ? kNewTrue : kNewFalse);
    case K::integer:
      return integer(v.integer);
    case K::big_integer:
      return big_integer(v.text);
    case K::real:
      op(kBinFloat);
      out_.number(__builtin_bswap64(std::bit_cast<uint64_t>(v.real)));
      return;
    case K::complex:
      global("__builtin__", "complex");
      for (double part : {v.real, v.imaginary}) op(kBinFloat), out_.number(__builtin_bswap64(std::bit_cast<uint64_t>(part)));
      op(kTuple2);
      return op(kReduce);
    case K::text:
      text(v.text);
      return remember(v);
    case K::bytes:
      raw_bytes(v.text);
      return remember(v);
    case K::byte_array:
      global("__builtin__", "bytearray");
      raw_bytes(v.text);
      op(kTuple1);
      op(kReduce);
      return remember(v);
    case K::list:
      op(kEmptyList);
      remember(v);
      return items(v);
    case K::tuple:
      tuple(v.items);
      // A tuple inside itself has been written, and remembered, on the way.
      return memo_.contains(&v) ? void() : remember(v);
    case K::size:
      global("torch", "Size");
      tuple(v.items);
      op(kTuple1);
      return op(kReduce);
    case K::dict:
      op(kEmptyDict);
      remember(v);
      return pairs(v);
    case K::ordered_dict:
      empty_ordered_dict();
      remember(v);
      pairs(v);
      if (v.attributes) value(*v.attributes), op(kBuild);
      return;
    case K::counter:
      global("collections", "Counter");
      op(kEmptyDict);
      pairs(v);
      op(kTuple1);
      op(kReduce);
      return remember(v);
    case K::set:
      return call_with_list("__builtin__", "set", v);
    case K::tensor:
      parameter_or_tensor(v);
      return remember(v);
    case K::dtype:
      return global("torch", std::string(name_of(v.dtype)));
    case K::device:
      global("torch", "device");
      text(v.text);
      op(kTuple1);
      return op(kReduce);
    default:
      fail<ValueError>("[save] a {} cannot be saved in a PyTorch file", name_of(v.kind));
  }
}

void PickleWriter::integer(int64_t v) {
  if (v >= 0 && v < 256) op(kBinInt1), out_.number(uint8_t(v));
  else if (v >= 0 && v < 65536) op(kBinInt2), out_.number(uint16_t(v));
  else if (v >= INT32_MIN && v <= INT32_MAX) op(kBinInt), out_.number(int32_t(v));
  else op(kLong1), op(8), out_.number(v);
}

void PickleWriter::big_integer(const std::string& bytes) {
  require<ValueError>(bytes.size() < 256, "[save] an integer is too large: got {} bytes", uint64_t(bytes.size()));
  op(kLong1);
  op(uint8_t(bytes.size()));
  out_.text(bytes);
}

void PickleWriter::text(const std::string& v) {
  require<ValueError>(v.size() <= UINT32_MAX, "[save] a string is too long: got {} bytes", uint64_t(v.size()));
  op(kBinUnicode);
  out_.number(uint32_t(v.size())).text(v);
}

// Protocol 2 has no bytes: they are text, encoded as Latin-1.
void PickleWriter::raw_bytes(const std::string& v) {
  std::string utf8;
  for (char c : v) {
    const auto b = uint8_t(c);
    if (b >= 0x80) utf8 += char(0xc0 | b >> 6);
    utf8 += b >= 0x80 ? char(0x80 | (b & 63)) : c;
  }
  global("_codecs", "encode");
  text(utf8);
  text("latin1");
  op(kTuple2);
  op(kReduce);
}

void PickleWriter::tuple(const std::vector<Value*>& list) {
  if (list.empty()) return op(kEmptyTuple);
  if (list.size() > 3) op(kMark);
  for (const Value* v : list) value(*v);
  op(list.size() > 3 ? uint8_t(kTuple) : uint8_t(kTuple1 + list.size() - 1));
}

void PickleWriter::items(const Value& list) {
  if (list.items.empty()) return;
  op(kMark);
  for (const Value* v : list.items) value(*v);
  op(kAppends);
}

void PickleWriter::pairs(const Value& dict) {
  if (dict.items.empty()) return;
  op(kMark);
  for (const Value* v : dict.items) value(*v);
  op(kSetItems);
}

void PickleWriter::dims(const Dims& v) {
  op(kMark);
  for (int64_t d : v) integer(d);
  op(kTuple);
}

void PickleWriter::global(const char* module, const std::string& name) {
  const auto [it, fresh] = global_memo_.try_emplace(module + (" " + name), remembered_);
  if (!fresh) {
    op(kLongBinGet);
    out_.number(it->second);
    return;
  }
  op(kGlobal);
  out_.text(module).text("\n").text(name).text("\n");
  op(kLongBinPut);
  out_.number(remembered_++);
}

void PickleWriter::call_with_list(const char* module, const char* name, const Value& v) {
  global(module, name);
  op(kEmptyList);
  items(v);
  op(kTuple1);
  op(kReduce);
  remember(v);
}

void PickleWriter::empty_ordered_dict() {
  global("collections", "OrderedDict");
  op(kEmptyTuple);
  op(kReduce);
}

void PickleWriter::parameter_or_tensor(const Value& v) {
  if (!v.parameter) return tensor(v);
  global("torch._utils", "_rebuild_parameter");
  tensor(v);
  op(v.boolean ? kNewTrue : kNewFalse);
  empty_ordered_dict();
  op(kTuple3);
  op(kReduce);
}

// Dtypes without their own storage class are stored in byte storages.
void PickleWriter::tensor(const Value& v) {
  const DType dtype = v.tensor.defined() ? v.tensor.dtype() : v.dtype;
  const std::string kind(storage_class(dtype));
  const StorageId id = name_storage_(v);
  global("torch._utils", kind.empty() ? "_rebuild_tensor_v3" : "_rebuild_tensor_v2");
  op(kMark);
  op(kMark);
  text("storage");
  kind.empty() ? global("torch.storage", "UntypedStorage") : global("torch", kind);
  text(id.key);
  text("cpu");
  integer(kind.empty() ? id.elements * size_of(dtype) : id.elements);
  op(kTuple);
  op(kBinPersId);
  integer(id.layout.offset);
  dims(id.layout.shape);
  dims(id.layout.strides);
  op(v.boolean && !v.parameter ? kNewTrue : kNewFalse);
  empty_ordered_dict();
  if (kind.empty()) global("torch", std::string(name_of(dtype)));
  op(kTuple);
  op(kReduce);
}

}  // namespace pyburn::io
