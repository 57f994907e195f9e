// Graph files: self-contained, written atomically, validated when read.
#pragma once
#include <string>

#include "pyburn/ir/wire.h"
#include "pyburn/runtime/device.h"

namespace pyburn {

// What backends keep for the constants, such as the packed weights of a session that is ready to run, goes into the file if `packed`.
void save_graph(const Graph& graph, const std::string& path, bool packed = false);
// Constants go to `device`; where its tensors lie in host memory, they stay in the mapped file, and are read when they are touched.
// FormatError, FileError.
Ref<Graph> load_graph(const std::string& path, Device& device);

// As above, in memory.
Bytes graph_to_bytes(const Graph& graph, bool packed = false);
constexpr size_t kGraphHeaderBytes = 48;
void seal_graph_bytes(std::span<std::byte> bytes);  // makes the header fit what follows it
Ref<Graph> graph_from_bytes(BytesView bytes, Device& device);

}  // namespace pyburn
