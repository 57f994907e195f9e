// A residual block, captured with a free batch, saved, loaded and run.
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>

#include "device_fixture.h"
#include "pyburn/backends/cpu/packed_weights.h"
#include "pyburn/inference/capture.h"
#include "pyburn/inference/graph_file.h"
#include "pyburn/inference/session.h"
#include "pyburn/support/file_error.h"

namespace pyburn::testing {
namespace {

struct ResidualBlock {
  Tensor w1 = numbers(cpu(), {4, 4, 3, 3}, 1), b1 = numbers(cpu(), {4}, 2), w2 = numbers(cpu(), {4, 4, 3, 3}, 3);
  Tensor mean = numbers(cpu(), {4}, 4), var = exp(numbers(cpu(), {4}, 5)), scale = numbers(cpu(), {4}, 6), shift = numbers(cpu(), {4}, 7);

  Tensors operator()(const Tensors& in) const {
    const Tensor y = relu(batch_norm(conv2d(in[0], w1, b1, Dims{1}, Dims{1}), mean, var, scale, shift));
    return {relu(conv2d(y, w2, {}, Dims{1}, Dims{1}) + in[0])};
  }
};

Ref<Graph> captured(const ResidualBlock& block) {
  return capture(cpu(), {{{Shape{-1, 4, 6, 5}, DType::float32}, "image"}}, block,
      {.output_names = {"features"}, .constants = {{"conv1.weight", block.w1}, {"conv2.weight", block.w2}}});
}

struct TemporaryFile {
  std::string path = ::testing::TempDir() + "pyburn_session_" + ::testing::UnitTest::GetInstance()->current_test_info()->name();
  ~TemporaryFile() { std::remove(path.c_str()); }
};

TEST(Session, RunsASavedResidualBlockAtAnyBatchSize) {
  const ResidualBlock block;
  const TemporaryFile file;
  save_graph(*captured(block), file.path);
  const std::unique_ptr<Session> session = Session::load(file.path, cpu());
  EXPECT_EQ(session->graph().input_names, std::vector<std::string>{"image"});
  EXPECT_EQ(session->graph().output_names, std::vector<std::string>{"features"});
  for (int64_t n : {1, 2, 3, 9}) {
    const Tensors in{numbers(cpu(), {n, 4, 6, 5}, int(n))};
    expect_close(session->run(in)[0], block(in)[0]);
  }
}

// As a user's model is: on the default stack, with parameters that ask for gradients.
TEST(Session, CapturesBelowAutodiff) {
  cpu();
  Device& device = pyburn::device("cpu");
  const Tensor weight = numbers(device, {3, 2});
  weight.set(Flag::requires_grad);
  auto f = [&](const Tensors& in) -> Tensors { return {relu(matmul(in[0], transpose(weight, 0, 1)))}; };
  const Ref<Graph> graph = capture(device, {{{Shape{-1, 2}, DType::float32}, "x"}}, f, {.constants = {{"weight", weight}}});
  ASSERT_EQ(graph->constant_names, std::vector<std::string>{"weight"});
  EXPECT_FALSE(graph->constants[0].second.requires_grad());
  Session session(graph, device);
  const Tensors in{numbers(device, {4, 2}, 2)};
  const Tensor expected = f(in)[0], got = session.run(in)[0];
  EXPECT_TRUE(expected.requires_grad());
  EXPECT_FALSE(got.requires_grad());
  expect_same(got, expected);
}

TEST(Session, SavesWhatItRuns) {
  const TemporaryFile file;
  Session session(captured(ResidualBlock()), cpu());
  session.save(file.path);
  session.save(file.path);  // over the first
  EXPECT_EQ(graph_to_bytes(session.graph()), graph_to_bytes(*load_graph(file.path, cpu())));
}

// Layers whose weights are packed: by Winograd's algorithm, as register tiles, as panels of a product.
struct PackedLayers {
  Tensor w1 = numbers(cpu(), {40, 32, 3, 3}, 1), w2 = numbers(cpu(), {70, 40, 3, 3}, 2), w3 = numbers(cpu(), {300, 70}, 3);

  Tensors operator()(const Tensors& in) const {
    const Tensor y = relu(conv2d(in[0], w1, {}, Dims{1}, Dims{1}));
    return {linear(mean(relu(conv2d(y, w2, {}, Dims{2}, Dims{1})), Dims{2, 3}), w3)};
  }
};
Ref<Graph> captured(const PackedLayers& layers) { return capture(cpu(), {{{Shape{2, 32, 28, 28}, DType::float32}, "image"}}, layers, {}); }
std::vector<const std::byte*> packed_places(const Graph& g) {
  std::vector<const std::byte*> places;
  for (const auto& [v, t] : g.constants)
    for (const cpu::PackedWeights& packed : cpu::packed_weights_of(t)) places.push_back(packed.bytes.data());
  return places;
}

TEST(PackedWeights, AreReadFromTheFile) {
  const TemporaryFile file;
  const PackedLayers layers;
  Session session(captured(layers), cpu());
  const Tensors in{numbers(cpu(), {2, 32, 28, 28}, 4)};
  session.save(file.path);
  const Ref<Graph> graph = load_graph(file.path, cpu());
  EXPECT_GE(packed_places(*graph).size(), 3u);
  const std::unique_ptr<Session> loaded = Session::load(file.path, cpu());
  const auto places = packed_places(loaded->graph());
  expect_same(loaded->run(in)[0], session.run(in)[0]);
  EXPECT_GE(places.size(), 3u);
  EXPECT_EQ(places, packed_places(loaded->graph()));  // kernels took them: nothing was packed again
  session.save(file.path, false);
  EXPECT_TRUE(packed_places(*load_graph(file.path, cpu())).empty());
  expect_same(Session::load(file.path, cpu())->run(in)[0], session.run(in)[0]);
}

TEST(PackedWeights, OfAnotherFormAreIgnored) {
  const TemporaryFile file;
  Session session(captured(PackedLayers()), cpu());
  const Tensors in{numbers(cpu(), {2, 32, 28, 28}, 4)};
  Bytes bytes = graph_to_bytes(session.graph(), true);
  const std::string form = cpu::packed_form();
  const auto* text = reinterpret_cast<const std::byte*>(form.data());
  const auto at = std::search(bytes.begin(), bytes.end(), text, text + form.size());
  ASSERT_NE(at, bytes.end());
  *at = std::byte('x');
  seal_graph_bytes(bytes);
  std::ofstream(file.path, std::ios::binary).write(reinterpret_cast<const char*>(bytes.data()), std::streamsize(bytes.size()));
  EXPECT_TRUE(packed_places(*load_graph(file.path, cpu())).empty());
  expect_same(Session::load(file.path, cpu())->run(in)[0], session.run(in)[0]);
}

// A hostile file may hold packed weights of any size, layout and key: kernels take only what has their size.
TEST(PackedWeights, OfAnotherSizeAreIgnored) {
  const TemporaryFile file;
  Session session(captured(PackedLayers()), cpu());
  const Tensors in{numbers(cpu(), {2, 32, 28, 28}, 4)};
  const Tensor expected = session.run(in)[0];
  for (const auto& [v, t] : session.graph().constants) {
    auto packed = cpu::packed_weights_of(t);
    ASSERT_EQ(packed.size(), 1u);
    packed[0].bytes = packed[0].bytes.first(packed[0].bytes.size() / 2);
    t.impl()->storage->derived = {};
    cpu::adopt_packed_weights(t, packed[0]);
  }
  session.save(file.path);
  EXPECT_EQ(packed_places(*load_graph(file.path, cpu())).size(), 3u);
  expect_same(Session::load(file.path, cpu())->run(in)[0], expected);
}

// Images of two sizes want two forms of one weight: neither is packed again when they take turns.
TEST(PackedWeights, OfSeveralSizesAreKeptSideBySide) {
  const Tensor w = numbers(cpu(), {40, 32, 3, 3}, 1);
  const CapturedFunction f = [&](const Tensors& in) -> Tensors { return {conv2d(in[0], w, {}, Dims{1}, Dims{1})}; };
  Session session(capture(cpu(), {{{Shape{1, 32, -1, -1}, DType::float32}, "image"}}, f, {}), cpu());
  const Tensors large{numbers(cpu(), {1, 32, 28, 28}, 2)}, small{numbers(cpu(), {1, 32, 5, 5}, 3)};
  session.run(large), session.run(small);
  const auto places = packed_places(session.graph());
  EXPECT_EQ(places.size(), 2u);
  expect_close(session.run(large)[0], f(large)[0]);
  expect_close(session.run(small)[0], f(small)[0]);
  EXPECT_EQ(places, packed_places(session.graph()));
}

TEST(GraphFile, RefusesWhatIsNotWhole) {
  const Bytes good = graph_to_bytes(*captured(ResidualBlock()));
  auto reading = [](Bytes bytes) { return message_of<FormatError>([&] { graph_from_bytes(bytes, cpu()); }); };
  EXPECT_NE(reading({}).find("too short"), std::string::npos);
  EXPECT_NE(reading(Bytes(good.begin(), good.end() - 1)).find("cut"), std::string::npos);
  Bytes bad = good;
  bad[0] = std::byte('X');
  EXPECT_NE(reading(bad).find("not a graph file"), std::string::npos);
  bad = good;
  bad[8] = std::byte(99);
  EXPECT_NE(reading(bad).find("version"), std::string::npos);
  bad = good;
  bad[kGraphHeaderBytes + 40] ^= std::byte(1);  // of the structure
  EXPECT_NE(reading(bad).find("checksum"), std::string::npos);
}

TEST(GraphFile, NamesTheFileItCannotOpen) {
  using SystemError = FileError;
  EXPECT_NE(message_of<SystemError>([] { load_graph("/nonexistent/graph", cpu()); }).find("/nonexistent/graph"), std::string::npos);
  const Ref<Graph> g = captured(ResidualBlock());
  EXPECT_NE(message_of<SystemError>([&] { save_graph(*g, "/nonexistent/graph"); }).find("/nonexistent/graph"), std::string::npos);
  message_of<SystemError>([] { load_graph(::testing::TempDir(), cpu()); });
}

}  // namespace
}  // namespace pyburn::testing
