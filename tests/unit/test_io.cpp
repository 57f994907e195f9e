// Safetensors: round trips, atomic replacement, hostile files.
#include <gtest/gtest.h>

#include <cstring>
#include <fstream>

#include "pyburn/io/atomic_file.h"
#include "pyburn/io/safetensors.h"
#include "pyburn/ops/functions.h"
#include "pyburn/runtime/transfer.h"
#include "pyburn/start.h"
#include "pyburn/support/file_error.h"

using namespace pyburn;
namespace fs = std::filesystem;

namespace {

struct Io : testing::Test {
  Io() { start(); }
  ~Io() override { fs::remove_all(folder); }
  fs::path folder = [] {
    std::string name = (fs::temp_directory_path() / "pyburn_io_XXXXXX").string();
    return fs::path(mkdtemp(name.data()));
  }();
};

std::string file_of(const std::string& header, size_t data_bytes) {
  std::string bytes(8, '\0');
  const uint64_t n = header.size();
  std::memcpy(bytes.data(), &n, 8);
  return bytes + header + std::string(data_bytes, '\1');
}

std::string refusal(const std::string& bytes) {
  try {
    io::SafetensorsReader reader(io::SharedBytes::borrowed(std::as_bytes(std::span(bytes))));
    return "accepted";
  } catch (const FormatError& e) {
    return e.what();
  }
}

TEST_F(Io, RoundTripsEveryDType) {
  io::TensorList tensors;
  for (DType t : all_dtypes()) tensors.emplace_back(std::string(name_of(t)), cast(arange(6), t).view({2, 3}));
  tensors.emplace_back("empty", zeros({0, 3}));
  tensors.emplace_back("scalar", full({}, 7.0));
  tensors.emplace_back("transposed", transpose(cast(arange(6), DType::float32).view({2, 3}), 0, 1));
  io::save_safetensors(tensors, folder / "all.safetensors", {{"format", "pt"}});
  const io::SafetensorsReader reader(folder / "all.safetensors");
  EXPECT_EQ(reader.items().size(), tensors.size());
  EXPECT_EQ(reader.metadata().at("format"), "pt");
  for (const auto& [name, t] : tensors) {
    const Tensor back = reader.tensor(name);
    EXPECT_EQ(back.meta(), t.meta()) << name;
    EXPECT_EQ(read_number(sum(cast(ne(back, t), DType::int64))), 0) << name;
  }
  EXPECT_THROW(reader.tensor("nothing"), ValueError);
}

TEST_F(Io, AFailedWriteLeavesTheOldFile) {
  const fs::path path = folder / "file";
  io::atomic_write(path, [](io::AtomicFile& f) { f.write(std::as_bytes(std::span("old", 3))); });
  EXPECT_THROW(io::atomic_write(path,
                   [](io::AtomicFile& f) {
                     f.write(std::as_bytes(std::span("new", 3)));
                     throw std::runtime_error("half way");
                   }),
      std::runtime_error);
  std::string text;
  std::ifstream(path) >> text;
  EXPECT_EQ(text, "old");
  EXPECT_EQ(std::distance(fs::directory_iterator(folder), fs::directory_iterator()), 1);
}

TEST_F(Io, KeepsLinksAndPermissions) {
  const fs::path path = folder / "file", link = folder / "link";
  io::atomic_write(path, [](io::AtomicFile&) {});
  fs::permissions(path, fs::perms::owner_read | fs::perms::owner_write);
  fs::create_symlink(path, link);
  io::atomic_write(link, [](io::AtomicFile& f) { f.write(std::as_bytes(std::span("x", 1))); });
  EXPECT_TRUE(fs::is_symlink(link));
  EXPECT_EQ(fs::file_size(path), 1u);
  EXPECT_EQ(fs::status(path).permissions(), fs::perms::owner_read | fs::perms::owner_write);
}

TEST_F(Io, MissingFilesAreErrorsOfTheSystem) {
  EXPECT_THROW(io::load_safetensors(folder / "none"), FileError);
  EXPECT_THROW(io::load_safetensors(folder), FileError);
  EXPECT_THROW(io::save_safetensors({}, folder / "no" / "such"), FileError);
}

TEST_F(Io, RefusesHostileFiles) {
  const std::string good = R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}})";
  EXPECT_EQ(refusal(file_of(good, 8)), "accepted");
  const std::pair<std::string, const char*> cases[] = {
      {"", "too short"},
      {std::string(7, '\0'), "too short"},
      {std::string(8, '\xff'), "header is too large"},
      {file_of(good, 8).substr(0, 20), "shorter than its header"},
      {file_of("", 0), "not valid JSON"},
      {file_of("[1]", 0), "not an object"},
      {file_of("{\"a\":", 0), "not valid JSON"},
      {file_of("{\"\xff\":1}", 0), "not valid JSON"},
      {file_of(std::string(100000, '['), 0), "nested too deeply"},
      {file_of(good, 7), "outside the file"},
      {file_of(good, 9), "trailing bytes"},
      {file_of(R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[8,0]}})", 8), "outside the file"},
      {file_of(R"({"a":{"dtype":"F32","shape":[3],"data_offsets":[0,8]}})", 8), "wrong size"},
      {file_of(R"({"a":{"dtype":"F32","shape":[-2],"data_offsets":[0,8]}})", 8), "integer"},
      {file_of(R"({"a":{"dtype":"F32","shape":[2.0],"data_offsets":[0,8]}})", 8), "integer"},
      {file_of(R"({"a":{"dtype":"F32","shape":[4611686018427387904,4],"data_offsets":[0,0]}})", 0), "too large"},
      {file_of(R"({"a":{"dtype":"F32","shape":[18446744073709551615],"data_offsets":[0,0]}})", 0), "too large"},
      {file_of(R"({"a":{"dtype":"F31","shape":[2],"data_offsets":[0,8]}})", 8), "unsupported dtype"},
      {file_of(R"({"a":{"dtype":3,"shape":[2],"data_offsets":[0,8]}})", 8), "expected a dtype"},
      {file_of(R"({"a":{"shape":[2],"data_offsets":[0,8]}})", 8), "has no dtype"},
      {file_of(R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0]}})", 8), "two offsets"},
      {file_of(R"({"a":1})", 0), "expected an object"},
      {file_of(R"({"__metadata__":{"a":1}})", 0), "not a string"},
      {file_of(R"({"a":{"dtype":"U8","shape":[4],"data_offsets":[0,4]},"b":{"dtype":"U8","shape":[4],"data_offsets":[2,6]}})", 6),
          "overlap"},
      {file_of(R"({"a":{"dtype":"U8","shape":[4],"data_offsets":[0,4]},"b":{"dtype":"U8","shape":[4],"data_offsets":[6,10]}})", 10), "gap"},
      {file_of(R"({"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]}})", 1),
          "duplicate tensor name"},
  };
  for (const auto& [bytes, reason] : cases) EXPECT_NE(refusal(bytes).find(reason), std::string::npos) << reason << " / " << refusal(bytes);
}

// Every prefix and every flipped byte of a good file is read or refused, never worse.
TEST_F(Io, SurvivesDamage) {
  const std::string good = file_of(R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}})", 8);
  for (size_t n = 0; n < good.size(); ++n) refusal(good.substr(0, n));
  for (size_t i = 0; i < good.size(); ++i)
    for (int flip = 1; flip < 256; ++flip) {
      std::string bad = good;
      bad[i] = char(bad[i] ^ flip);
      refusal(bad);
    }
}

}  // namespace
