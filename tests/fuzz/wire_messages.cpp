#include "wire_messages.h"

#include <algorithm>
#include <cstring>

#include "pyburn/support/error.h"

namespace pyburn::fuzz {

using remote::Command;
using remote::RemoteTensor;

std::vector<BytesView> split_messages(BytesView stream) {
  std::vector<BytesView> messages;
  while (stream.size() >= 4) {
    uint32_t size;
    std::memcpy(&size, stream.data(), 4);
    stream = stream.subspan(4);
    messages.push_back(stream.first(std::min<size_t>(size, stream.size())));
    stream = stream.subspan(messages.back().size());
  }
  return messages;
}

Bytes join_messages(const std::vector<Bytes>& messages) {
  Bytes stream;
  for (const Bytes& m : messages) {
    const auto size = uint32_t(m.size());
    const BytesView head = std::as_bytes(std::span(&size, 1));
    stream.insert(stream.end(), head.begin(), head.end());
    stream.insert(stream.end(), m.begin(), m.end());
  }
  return stream;
}

OpNames server_names() {
  OpNames names;
  for (const OpInfo* op : OpTable::global().rows()) names.add(op->name());
  names.sealed = true;
  return names;
}

namespace {

using Optionals = std::vector<std::optional<RemoteTensor>>;

void write(WireWriter& w, const Optionals& tensors) {
  w.count(tensors.size());
  for (const auto& t : tensors) {
    w.byte(t.has_value());
    if (t) remote::encode(w, *t);
  }
}
Optionals read_tensors(WireReader& r) {
  Optionals list;
  for (int64_t n = r.length(); n > 0; --n) list.push_back(r.boolean() ? std::optional(remote::decode_tensor(r)) : std::nullopt);
  return list;
}

void write(WireWriter& w, const Step& s) {
  w.byte(uint8_t(s.command));
  switch (s.command) {
    case Command::hello:
    case Command::release:
      return w.count(s.number);
    case Command::support:
      return w.text(s.text), w.byte(uint8_t(s.dtype));
    case Command::allocate:
      return w.count(s.number), w.byte(uint8_t(s.dtype)), w.count(s.elements);
    case Command::supports_call:
    case Command::execute:
      return pyburn::encode(w, s.op.ref()), write(w, s.in), write(w, s.out);
    case Command::execute_dynamic:
      pyburn::encode(w, s.op.ref()), write(w, s.in), w.count(s.ids.size());
      for (uint64_t id : s.ids) w.count(id);
      return;
    case Command::upload:
      return remote::encode(w, *s.in.at(0)), w.raw(s.data);
    case Command::download:
      return remote::encode(w, *s.in.at(0));
    case Command::synchronize:
    case Command::memory:
      return;
  }
}

Step read_step(WireReader& r) {
  const uint8_t command = r.byte();
  require<FormatError>(command < remote::kCommands, "unknown command");
  Step s{.command = Command(command)};
  switch (s.command) {
    case Command::hello:
    case Command::release:
      s.number = r.count();
      break;
    case Command::support:
      s.text = r.text(), s.dtype = r.dtype();
      break;
    case Command::allocate:
      s.number = r.count(), s.dtype = r.dtype(), s.elements = r.count();
      break;
    case Command::supports_call:
    case Command::execute:
      s.op = decode_operation(r), s.in = read_tensors(r), s.out = read_tensors(r);
      break;
    case Command::execute_dynamic:
      s.op = decode_operation(r), s.in = read_tensors(r);
      for (int64_t n = r.length(); n > 0; --n) s.ids.push_back(r.count());
      break;
    case Command::upload: {
      s.in = {remote::decode_tensor(r)};
      const BytesView data = r.raw(size_t(bytes_of(s.in[0]->dtype, s.in[0]->layout.numel())));
      s.data.assign(data.begin(), data.end());
      break;
    }
    case Command::download:
      s.in = {remote::decode_tensor(r)};
      break;
    case Command::synchronize:
    case Command::memory:
      break;
  }
  return s;
}

}  // namespace

Bytes encode(const Message& message, OpNames& names) {
  WireWriter w(names);
  for (const Step& s : message) write(w, s);
  return w.take();
}

Message decode(BytesView bytes, OpNames& names) {
  WireReader r(bytes, names);
  Message message;
  while (r.left() > 0) message.push_back(read_step(r));
  return message;
}

}  // namespace pyburn::fuzz
