#include "pyburn/inference/session.h"

#include "pyburn/inference/graph_file.h"

namespace pyburn {

std::unique_ptr<Session> Session::load(const std::string& path, Device& device) {
  return std::make_unique<Session>(load_graph(path, device), device);
}
void Session::save(const std::string& path) const { save_graph(graph(), path); }

}  // namespace pyburn
