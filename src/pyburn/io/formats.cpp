// Any format: which one a file is in, and which one its name asks for.
#include <array>
#include <cctype>

#include "pyburn/io/atomic_file.h"
#include "pyburn/io/bundle.h"
#include "pyburn/io/checkpoint.h"
#include "pyburn/io/npy.h"
#include "pyburn/io/safetensors.h"
#include "pyburn/io/zip_read.h"
#include "pyburn/support/error.h"

namespace pyburn::io {
namespace {

namespace fs = std::filesystem;

struct Format {
  std::string_view name;
  std::vector<std::string_view> endings;
  void (*write)(const Snapshots&, ByteSink&, const TextMap& metadata);
};

void no_metadata(const TextMap& metadata, const char* format) {
  require<ValueError>(metadata.empty(), "[io] the format {} does not support metadata", format);
}

const std::vector<Format>& formats() {
  static const std::vector<Format> list = {
      {"safetensors", {".safetensors"}, write_safetensors},
      {"pytorch", {".pt", ".pth", ".bin", ".ckpt"},
          [](const Snapshots& tensors, ByteSink& sink, const TextMap& metadata) {
            no_metadata(metadata, "pytorch");
            write_checkpoint(tensors, sink);
          }},
      {"npz", {".npz"},
          [](const Snapshots& tensors, ByteSink& sink, const TextMap& metadata) {
            no_metadata(metadata, "npz");
            write_npz(tensors, sink);
          }},
      {"npy", {".npy"},
          [](const Snapshots& tensors, ByteSink& sink, const TextMap& metadata) {
            no_metadata(metadata, "npy");
            require<ValueError>(tensors.size() == 1, "[io] a .npy file stores exactly one tensor: got {}", uint64_t(tensors.size()));
            write_npy(tensors[0], sink);
          }},
      {"pyburn", {".pyburn"},
          [](const Snapshots& tensors, ByteSink& sink, const TextMap& metadata) {
            BundleWriter writer(sink);
            writer.metadata(metadata);
            for (const Snapshot& t : tensors) writer.tensor(t);
            writer.finish();
          }},
  };
  return list;
}

const Format& format_for(const fs::path& path, const std::string& name) {
  const std::string file = path.filename().string();
  for (const Format& f : formats()) {
    if (f.name == name) return f;
    for (std::string_view ending : f.endings)
      if (name.empty() && file.ends_with(ending)) return f;
  }
  std::string known;
  for (const Format& f : formats()) known += (known.empty() ? "" : ", ") + std::string(f.name);
  fail<ValueError>("[io] unknown format: got '{}', expected one of {}", name.empty() ? file : name, known);
}

bool has_arrays(const SharedBytes& file) {
  const ZipReader zip(file);
  for (const ZipReader::Entry& e : zip.entries())
    if (e.name.ends_with(".npy")) return true;
  return false;
}

TensorFile open_named(SharedBytes bytes, const OpenOptions& options, const std::string& name) {
  if (BundleReader::looks_like_one(bytes)) {
    const BundleReader reader(std::move(bytes), options);
    return {reader.tensors(), reader.metadata(), "pyburn"};
  }
  if (bytes.starts_with("\x93NUMPY")) return {{open_npy(std::move(bytes), name, options.mmap)}, {}, "npy"};
  if (ZipReader::looks_like_one(bytes) && has_arrays(bytes)) return {open_npz(std::move(bytes), options), {}, "npz"};
  if (Checkpoint::looks_like_one(bytes)) return {Checkpoint::snapshots(std::move(bytes), options), {}, "pytorch"};
  const SafetensorsReader reader(std::move(bytes));
  return {reader.snapshots(options.mmap), reader.metadata(), "safetensors"};
}

}  // namespace

TensorFile open_tensors(const fs::path& path, const OpenOptions& options) {
  if (path.filename().string().ends_with(".index.json")) return open_index(path, options);
  return open_named(SharedBytes::of_file(path), options, path.stem().string());
}

TensorFile open_tensors(SharedBytes bytes, const OpenOptions& options) { return open_named(std::move(bytes), options, "array"); }

void write_tensors(const Snapshots& tensors, const fs::path& path, const TextMap& metadata, std::string format) {
  const Format& f = format_for(path, format);
  atomic_write(path, [&](AtomicFile& file) { f.write(tensors, file, metadata); });
}

}  // namespace pyburn::io
