// Plugins, loaded by a C++ program.
#include <gtest/gtest.h>

#include "pyburn/plugin.h"
#include "pyburn/pyburn.h"
#include "pyburn/support/file_error.h"

namespace pyburn {
namespace {

template <class E>
std::string message_of(const std::string& path) {
  try {
    load_library(path);
  } catch (const E& e) {
    return e.what();
  }
  return "loaded";
}

TEST(Plugin, ALibraryAddsABackend) {
  const Plugin& plugin = load_library(PYBURN_TEST_PLUGIN);
  EXPECT_TRUE(plugin.operations.empty());
  EXPECT_EQ(&load_library(PYBURN_TEST_PLUGIN), &plugin);
  const Tensor x = ones(Dims{2, 3}, {}, &device("late"));
  EXPECT_EQ(read_number((x + 1.0).sum()), 12.0);
}

TEST(Plugin, ErrorsArePyburns) {
  EXPECT_EQ(message_of<FileError>("/nonexistent/plugin.so"),
      "[load_library] cannot open the file: No such file or directory: '/nonexistent/plugin.so'");
  EXPECT_NE(message_of<FileError>(::testing::TempDir()).find("Is a directory"), std::string::npos);
  EXPECT_NE(message_of<PluginError>("/proc/self/exe").find("not a plugin"), std::string::npos);
}

}  // namespace
}  // namespace pyburn
