#include <map>

#include "pyburn/io/checkpoint.h"
#include "pyburn/io/pickle_opcodes.h"
#include "pyburn/io/pickle_read.h"
#include "pyburn/io/zip_read.h"
#include "pyburn/nn/parameter.h"
#include "pyburn/runtime/run.h"

namespace pyburn::io {
namespace {

using K = Value::Kind;

// The first pickle of a file in the format before zip: the number 0x1950a86a20f9469cfc6c.
constexpr std::string_view kMagic("\x8a\x0a\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19\x2e", 13);
constexpr int64_t kVersionBeforeZip = 1001;

// The number comes behind the protocol, and from protocol 4 on behind the length of a frame.
bool begins_with_magic(const SharedBytes& file) {
  const auto at = [bytes = file.view()](size_t i) { return i < bytes.size() ? uint8_t(bytes[i]) : uint8_t(0); };
  if (at(0) != pickle::kProto || at(1) > pickle::kHighestProtocol) return false;
  const size_t number = at(2) == pickle::kFrame ? 3 + sizeof(uint64_t) : 2;
  return number < file.size() && file.part(number, file.size() - number).starts_with(kMagic);
}

// Part of the storage of a tensor as one of one axis.
TensorHandle elements_of(const StoredTensor& t, int64_t first, int64_t count, Device& device, bool mmap) {
  const StoredStorage& s = *t.storage;
  const uint64_t width = t.width();
  const SharedBytes part = s.data.part(size_t(uint64_t(first) * width), size_t(uint64_t(count) * width));
  const Meta meta{Shape{count}, t.dtype};
  if (t.packed) return as_bfloat16(part, *t.packed).tensor(meta, device);
  if (s.swap && width > 1) return part.swapped(size_t(width)).tensor(meta, device);
  return part.tensor(meta, device, mmap);
}

// Only what the tensor needs of its storage is read.
TensorHandle load_alone(const StoredTensor& t, Device& device, bool mmap) {
  const auto [first, last] = t.layout.numel() == 0 ? std::pair<int64_t, int64_t>(0, 0) : t.layout.extent();
  const TensorHandle elements = elements_of(t, first, last - first, device, mmap);
  Layout l = t.layout;
  l.offset = t.layout.numel() == 0 ? 0 : l.offset - first;
  return alias(elements, l);
}

const Value& inside(const Value& root, std::string_view key) {
  const Value* v = &root;
  while (!key.empty()) {
    const size_t dot = key.find('.');
    // A key may contain dots itself: then the rest of the way is one key.
    const Value* whole = v->find(key);
    if (whole) return *whole;
    v = &v->at(key.substr(0, dot));
    key = dot == key.npos ? std::string_view() : key.substr(dot + 1);
  }
  return *v;
}

}  // namespace

bool Checkpoint::looks_like_one(const SharedBytes& file) { return ZipReader::looks_like_one(file) || begins_with_magic(file); }

Checkpoint::Checkpoint(SharedBytes file, const OpenOptions& options) : file_(std::move(file)), options_(options) {
  if (ZipReader::looks_like_one(file_)) {
    read_zip();
    return;
  }
  require<FormatError>(
      begins_with_magic(file_), "[pytorch] not a PyTorch file: expected a zip archive or the legacy format of torch.save()");
  read_before_zip();
}

Value* Checkpoint::read_pickle(std::span<const std::byte> bytes, size_t& used) {
  PickleReader reader(bytes, tree_);
  reader.names = [&](std::string_view name) { return allowed_name(tree_, name); };
  reader.call = [&](const Value& callable, const std::vector<Value*>& arguments) { return call_name(tree_, stored_, callable, arguments); };
  reader.persistent = [&](const Value& id) { return stored_storage(tree_, stored_, id); };
  Value* v = reader.read();
  used = reader.used();
  return v;
}

void Checkpoint::read_zip() {
  const ZipReader zip(file_);
  std::string folder;
  const ZipReader::Entry* pickle = nullptr;
  for (const ZipReader::Entry& e : zip.entries()) {
    const size_t slash = e.name.find('/');
    if (slash == e.name.npos || e.name.substr(slash + 1) != "data.pkl") continue;
    require<FormatError>(!pickle, "[pytorch] the file has two entries data.pkl");
    pickle = &e;
    folder = e.name.substr(0, slash + 1);
  }
  require<FormatError>(pickle, "[pytorch] not a PyTorch file: the zip archive has no entry data.pkl");
  require<FormatError>(!zip.find(folder + "constants.pkl"), "[pytorch] this is a TorchScript program; save its state_dict() instead");
  bool swap = false;
  if (const ZipReader::Entry* order = zip.find(folder + "byteorder")) {
    const SharedBytes text = zip.read(*order);
    require<FormatError>(text.starts_with("little") || text.starts_with("big"), "[pytorch] unknown byte order");
    swap = text.starts_with("big");
  }
  size_t used = 0;
  const SharedBytes bytes = zip.read(*pickle);
  tree_.root = read_pickle(bytes.view(), used);
  for (StoredStorage& s : stored_.storages) {
    const ZipReader::Entry* e = zip.find(folder + "data/" + s.key);
    require<FormatError>(e, "[pytorch] storage '{}' is missing", s.key);
    require<FormatError>(
        e->size == s.bytes, "[pytorch] storage '{}' has the wrong size: got {} bytes, expected {}", s.key, e->size, s.bytes);
    s.data = zip.read(*e, options_.verify && !options_.mmap);
    s.swap = swap;
  }
}

// Pickles one after another: a number, a version, facts about the machine, the object, the keys of storages; then the
// storages, each behind the number of its elements.
void Checkpoint::read_before_zip() {
  size_t position = 0;
  const auto next = [&] {
    size_t used = 0;
    Value* v = read_pickle(file_.view().subspan(position), used);
    position += used;
    return v;
  };
  next();
  const Value* version = next();
  require<FormatError>(version->kind == K::integer && version->integer == kVersionBeforeZip, "[pytorch] unsupported version of the format");
  const Value* order = next()->find("little_endian");
  require<FormatError>(order && order->kind == K::boolean, "[pytorch] the byte order is missing");
  tree_.root = next();
  const Value* keys = next();
  require<FormatError>(keys->kind == K::list && keys->items.size() == stored_.storages.size(), "[pytorch] the list of storages is damaged");
  ByteCursor c(file_.view().subspan(position), "pytorch");
  for (const Value* key : keys->items) {
    const auto it = key->kind == K::text ? stored_.by_key.find(key->text) : stored_.by_key.end();
    require<FormatError>(it != stored_.by_key.end(), "[pytorch] the list of storages has one that no tensor uses");
    StoredStorage& s = stored_.storages[it->second];
    const auto elements = c.number<uint64_t>();
    const auto width = uint64_t(size_of(s.dtype.value_or(DType::uint8)));
    require<FormatError>(elements == s.bytes / width, "[pytorch] storage '{}' has the wrong size: got {} elements, expected {}", s.key,
        elements, s.bytes / width);
    const size_t start = position + c.position();
    s.data = file_.part(start, c.take(s.bytes).size());
    s.swap = !order->boolean;
  }
  for (const StoredStorage& s : stored_.storages)
    require<FormatError>(s.data.size() == s.bytes, "[pytorch] storage '{}' is missing", s.key);
}

void Checkpoint::load(const Place& place) {
  std::map<std::tuple<const StoredStorage*, DType, std::optional<Float8>>, TensorHandle> roots;
  for (Value& v : tree_.values()) {
    if (!v.stored) continue;
    const StoredTensor& t = *v.stored;
    TensorHandle& root = roots[{t.storage, t.dtype, t.packed}];
    if (!root.defined()) {
      const auto elements = int64_t(t.storage->bytes / t.width());
      root = place(elements_of(t, 0, elements, default_device(), options_.mmap), t.storage->location);
    }
    const TensorHandle view = alias(root, t.layout);
    const bool gradient = v.boolean && is_floating(t.dtype);
    v.tensor = v.parameter ? nn::Parameter(view, gradient) : asking_for_gradient(view, gradient);
  }
}

Snapshots Checkpoint::snapshots(SharedBytes file, const OpenOptions& options) {
  const auto checkpoint = std::make_shared<Checkpoint>(std::move(file), options);
  const Value& tensors = inside(checkpoint->root(), options.key);
  if (tensors.kind == K::foreign) refuse_foreign(tensors);
  Snapshots list;
  for (const auto& [name, v] : named_tensors(tensors, checkpoint->file_.size())) {
    const StoredTensor* t = v->stored;
    list.push_back({name, t->meta(), [checkpoint, t, mmap = options.mmap](Device& device) { return load_alone(*t, device, mmap); }});
  }
  return list;
}

}  // namespace pyburn::io
