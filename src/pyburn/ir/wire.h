// The wire format of operations and graphs, for files and networks. Reading is safe for any input: FormatError, never a crash.
#pragma once
#include <cstddef>
#include <functional>
#include <span>
#include <unordered_map>
#include <vector>

#include "pyburn/ir/graph.h"

namespace pyburn {

using Bytes = std::vector<std::byte>;
using BytesView = std::span<const std::byte>;

// Numbers of operations, agreed by both sides. An operation that is new to the table is sent by name once.
class OpNames {
 public:
  int64_t size() const { return int64_t(rows_.size()); }
  void add(std::string_view name);    // also for an operation that this process does not know
  int64_t find(const OpInfo&) const;  // -1 when not in the table
  const std::string& name(int64_t i) const { return rows_[size_t(i)]; }
  const OpInfo& at(int64_t i) const;  // FormatError if neither this process nor a package that it may load knows it
  bool sealed = false;                // fixed in advance: other operations cannot be sent

 private:
  struct Hash : std::hash<std::string_view> {
    using is_transparent = void;
  };
  std::vector<std::string> rows_;
  std::unordered_map<std::string, int64_t, Hash, std::equal_to<>> index_;
};

// Reads and writes the data of constants: the wire format itself does not depend on a backend.
using ReadConstant = std::function<void(const TensorHandle& from, std::span<std::byte> to)>;
using MakeConstant = std::function<TensorHandle(const Meta&, BytesView from)>;
// The same where the elements lie beside the message, at an offset.
using PlaceConstant = std::function<uint64_t(const TensorHandle&)>;
using FindConstant = std::function<TensorHandle(const Meta&, uint64_t offset)>;

class WireWriter {
 public:
  explicit WireWriter(OpNames& names) : names(names) {}
  void byte(uint8_t v) { bytes_.push_back(std::byte(v)); }
  void count(uint64_t v);  // seven bits per byte: small numbers are short
  void integer(int64_t v);
  void real(double v);
  void text(std::string_view v);
  void raw(BytesView v) { bytes_.insert(bytes_.end(), v.begin(), v.end()); }
  std::span<std::byte> extend(size_t bytes);  // space to be filled by the caller
  Bytes take() { return std::move(bytes_); }

  OpNames& names;
  ReadConstant read_constant;  // one of the two is needed for graphs with constants
  PlaceConstant place_constant;

 private:
  Bytes bytes_;
};

class WireReader {
 public:
  WireReader(BytesView bytes, OpNames& names) : names(names), rest_(bytes) {}
  uint8_t byte();
  uint64_t count();
  // A count of items of at least `item_bytes` each: checked against the remaining data, so it is safe to allocate.
  int64_t length(size_t item_bytes = 1);
  int64_t integer();
  double real();
  bool boolean();
  DType dtype();
  std::string text();
  BytesView raw(size_t bytes);
  size_t left() const { return rest_.size(); }
  void end() const;  // FormatError if bytes are left

  OpNames& names;
  MakeConstant make_constant;
  FindConstant find_constant;
  int depth = 0, deepest = 8;  // of graphs inside operations inside graphs

 private:
  BytesView rest_;
};

void encode(WireWriter&, const Dims&);
void encode(WireWriter&, const Meta&);
void encode(WireWriter&, const Layout&);
void encode(WireWriter&, OpRef);
void encode(WireWriter&, const Graph&);

Dims decode_dims(WireReader&);
Meta decode_meta(WireReader&);      // sizes are not negative and the bytes do not overflow
Layout decode_layout(WireReader&);  // as above, without negative strides and offsets
Operation decode_operation(WireReader&);
Ref<Graph> decode_graph(WireReader&);  // passes check()

}  // namespace pyburn
