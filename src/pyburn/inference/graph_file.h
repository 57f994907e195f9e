// Graph files: self-contained, written atomically, validated when read.
#pragma once
#include <string>

#include "pyburn/ir/wire.h"
#include "pyburn/runtime/device.h"

namespace pyburn {

void save_graph(const Graph& graph, const std::string& path);
Ref<Graph> load_graph(const std::string& path, Device& device);  // constants go to `device`; FormatError, FileError

// As above, in memory.
Bytes graph_to_bytes(const Graph& graph);
void seal_graph_bytes(std::span<std::byte> bytes);  // writes the header, with the checksum, before a payload
Ref<Graph> graph_from_bytes(BytesView bytes, Device& device);

}  // namespace pyburn
