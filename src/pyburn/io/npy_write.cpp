#include <set>

#include "pyburn/io/byte_builder.h"
#include "pyburn/io/byte_sink.h"
#include "pyburn/io/npy.h"
#include "pyburn/io/zip_write.h"
#include "pyburn/runtime/device.h"
#include "pyburn/support/error.h"

namespace pyburn::io {
namespace {

constexpr size_t kAlignment = 64;  // of the data, as numpy does it

std::string dtype_text(DType t) {
  const char kind = t == DType::bfloat16 ? 'V' : t == DType::boolean ? 'b' : is_floating(t) ? 'f' : is_unsigned_integer(t) ? 'u' : 'i';
  const bool has_order = size_of(t) > 1 && t != DType::bfloat16;
  return (has_order ? "<" : "|") + std::string(1, kind) + std::to_string(size_of(t));
}

// Version 1 has room for a header of 64 KB: thousands of axes.
std::vector<std::byte> header_of(const Meta& meta) {
  std::string text = "{'descr': '" + dtype_text(meta.dtype) + "', 'fortran_order': False, 'shape': " + to_text(meta.shape) + ", }";
  const size_t before = 10, unpadded = before + text.size() + 1;
  text.append((kAlignment - unpadded % kAlignment) % kAlignment, ' ');
  text += '\n';
  return ByteBuilder().text("\x93NUMPY").number(uint8_t(1)).number(uint8_t(0)).number(uint16_t(text.size())).text(text).take();
}

}  // namespace

void write_npy(const Snapshot& tensor, ByteSink& sink) {
  sink.write(header_of(tensor.meta));
  with_host_bytes(tensor.load(device("ndarray")), [&](std::span<const std::byte> bytes) { sink.write(bytes); });
}

void write_npz(const Snapshots& tensors, ByteSink& sink) {
  ZipWriter zip(sink);
  std::set<std::string_view> names;
  for (const Snapshot& t : tensors) {
    require<ValueError>(names.insert(t.name).second, "[npz] duplicate name: got '{}'", t.name);
    MemorySink one;
    write_npy(t, one);
    zip.add(t.name + ".npy", one.take(), kAlignment);
  }
  zip.finish();
}

}  // namespace pyburn::io
