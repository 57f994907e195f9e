// Sessions of a client, made from the table of operations, and what a hostile client would change in them.
#include <algorithm>
#include <cstring>

#include "wire_messages.h"

namespace pyburn::fuzz {
namespace {

using remote::Command;
using remote::RemoteTensor;

// Extents that many operations accept: images, kernels, matrices, rows, numbers, nothing.
Shape any_shape(Random& r) {
  static const Shape kShapes[] = {
      {}, {1}, {3}, {2, 3}, {4, 4}, {4, 4}, {3, 4, 4}, {2, 3, 6, 6}, {2, 3, 3, 3}, {1, 3, 5, 5}, {0, 3}, {2, 1, 3}};
  return r.any_of(kShapes);
}
DType any_dtype(Random& r) {
  constexpr DType kUsual[] = {DType::float32, DType::float32, DType::float32, DType::int64, DType::int64, DType::boolean};
  return r.one_in(5) ? r.dtype() : r.any_of(kUsual);
}

// Values as a client may send them: indices in range, and numbers that must not become sizes or indices unchecked.
Bytes any_data(const Meta& meta, Random& r) {
  Bytes data(size_t(bytes_of(meta.dtype, meta.shape.numel())));
  const auto width = size_t(std::max<int64_t>(size_of(meta.dtype), 1));
  const bool hostile = r.one_in(3);
  for (size_t at = 0; at + width <= data.size(); at += width) {
    const int64_t v = hostile && r.coin() ? r.integer() : int64_t(r.below(3));
    if (meta.dtype == DType::float32) {
      const auto real = float(hostile && r.coin() ? r.real() : 0.5 * double(v));
      std::memcpy(data.data() + at, &real, sizeof real);
    } else {
      std::memcpy(data.data() + at, &v, std::min<size_t>(width, 8));
    }
  }
  return data;
}

// Writes a session, and knows which storages there are.
class Session {
 public:
  explicit Session(Random& r) : random_(r) {}

  std::vector<Message> make() {
    send({.command = Command::hello, .number = remote::kVersion});
    for (uint64_t n = 2 + random_.below(3); n > 0; --n) tensor();
    for (uint64_t n = 2 + random_.below(5); n > 0; --n) operate();
    if (random_.coin()) send({.command = Command::memory});
    if (random_.coin()) send({.command = Command::synchronize});
    if (random_.coin()) send({.command = Command::release, .number = random_.any_of(tensors_).id});
    return std::move(messages_);
  }

 private:
  void send(Step s) {
    if (messages_.empty() || random_.coin()) messages_.emplace_back();
    for (Step& allocation : std::exchange(pending_, {})) messages_.back().push_back(std::move(allocation));
    messages_.back().push_back(std::move(s));
  }
  RemoteTensor allocate(const Meta& meta) {
    const uint64_t id = next_id_++;
    pending_.push_back({.command = Command::allocate, .number = id, .elements = uint64_t(meta.shape.numel()), .dtype = meta.dtype});
    return {id, meta.dtype, contiguous_layout(meta.shape)};
  }
  void tensor() {
    const Meta meta{any_shape(random_), any_dtype(random_)};
    const RemoteTensor t = allocate(meta);
    send({.command = Command::upload, .in = {t}, .data = any_data(meta, random_)});
    tensors_.push_back(t);
  }
  void operate() {
    std::vector<Meta> metas;
    for (const RemoteTensor& t : tensors_) metas.push_back({t.layout.shape, t.dtype});
    MadeOperation made;
    for (int tries = 0; tries < 20 && !made.valid; ++tries) made = make_operation(random_, metas);
    Step s{.command = Command::execute, .op = made.op};
    for (int64_t i : made.in) s.in.push_back(tensors_[size_t(i)]);
    if (made.op.info().kind == Kind::dynamic) {
      s.command = Command::execute_dynamic;
      for (const Meta& m : made.results) {
        s.ids.push_back(next_id_++);
        tensors_.push_back({s.ids.back(), m.dtype, contiguous_layout(m.shape)});
      }
      return send(std::move(s));
    }
    Step question = s;
    question.command = Command::supports_call;
    for (const Meta& m : made.results) question.out.push_back(s.out.emplace_back(target(s, m)));
    if (random_.one_in(4)) send({.command = Command::support, .dtype = any_dtype(random_), .text = std::string(made.op.info().name())});
    if (random_.one_in(4)) send(std::move(question));
    send(s);
    for (const auto& t : s.out) {
      tensors_.push_back(*t);
      if (random_.coin()) send({.command = Command::download, .in = {*t}});
    }
  }
  // Where a result goes: a new storage, or in place.
  RemoteTensor target(const Step& s, const Meta& m) {
    if (random_.one_in(4))
      for (const auto& t : s.in)
        if (t->layout.shape == m.shape && t->dtype == m.dtype) return *t;
    return allocate(m);
  }

  Random& random_;
  uint64_t next_id_ = 1;
  std::vector<RemoteTensor> tensors_;
  std::vector<Message> messages_;
  Message pending_;
};

void mutate(RemoteTensor& t, Random& r) {
  Layout& l = t.layout;
  switch (r.below(9)) {
    case 0:
      t.id = r.coin() ? r.below(12) : r.unsigned_integer();
      return;
    case 1:
      t.dtype = any_dtype(r);
      return;
    case 2:
      l.offset = r.integer();
      return;
    case 3:  // a view inside the storage
      l.offset = int64_t(r.below(3));
      return;
    case 4:
    case 5:
      if (!l.strides.empty()) r.any_of(l.strides) = r.coin() ? int64_t(r.below(4)) : r.integer();
      return;
    case 6:
    case 7:
      if (!l.shape.empty()) r.any_of(l.shape) = r.coin() ? int64_t(r.below(4)) : r.integer();
      return;
    default:  // another rank; stride 0 makes few bytes many elements
      l.shape.push_back(r.coin() ? 2 : std::abs(r.integer() / 2));
      if (!r.one_in(8)) l.strides.push_back(int64_t(r.below(2)));
  }
}

void mutate(std::optional<RemoteTensor>& t, Random& r) {
  if (r.one_in(8)) t = t ? std::nullopt : std::optional(RemoteTensor{1, DType::float32, {}});
  else if (t) mutate(*t, r);
}

void mutate(uint64_t& id, Random& r) { id = r.coin() ? r.below(12) : r.unsigned_integer(); }

void mutate_list(auto& list, Random& r) {
  if (r.one_in(8)) list.push_back(r.any_of(list));
  else if (r.one_in(8)) list.pop_back();
  else if (r.one_in(4)) std::swap(r.any_of(list), r.any_of(list));
  else mutate(r.any_of(list), r);
}

void mutate(Step& s, Random& r) {
  switch (r.below(10)) {
    case 0:
      return mutate(s.number, r);
    case 1:
      s.elements = r.coin() ? r.below(100) : r.unsigned_integer();
      return;
    case 2:
      s.dtype = r.dtype();
      if (r.coin()) s.text.assign(r.below(4), '\xff');
      return;
    case 3:
    case 4:
      if (s.op.defined()) {
        HostileFields fields(r);
        s.op = s.op.edited(fields);
      }
      return;
    case 5:
    case 6:
      if (s.command == Command::upload || s.command == Command::download) return mutate(*s.in[0], r);
      if (!s.in.empty()) mutate_list(s.in, r);
      return;
    case 7:
      if (!s.out.empty()) mutate_list(s.out, r);
      if (!s.ids.empty()) mutate_list(s.ids, r);
      return;
    case 8:  // the output is an input: in place, or overlapping
      if (s.command == Command::execute && !s.out.empty() && !s.in.empty() && r.any_of(s.in)) {
        s.out[0] = r.any_of(s.in);
        if (r.coin()) mutate(s.out[0], r);
      }
      return;
    default:
      if (!s.data.empty()) s.data.resize(r.below(2 * s.data.size()));
  }
}

}  // namespace

std::vector<Message> make_session(Random& random) { return Session(random).make(); }

void mutate(std::vector<Message>& messages, Random& r) {
  for (uint64_t n = r.below(5); n > 0 && !messages.empty(); --n) {
    Message& m = r.any_of(messages);
    switch (r.below(8)) {
      case 0:  // out of order
        std::swap(m, r.any_of(messages));
        break;
      case 1:
        messages.push_back(Message(m));
        break;
      case 2:
        messages.erase(messages.begin() + ptrdiff_t(r.below(messages.size())));
        break;
      default:
        if (!m.empty()) mutate(r.any_of(m), r);
    }
  }
}

}  // namespace pyburn::fuzz
