// remote(ndarray): every operation over an in-process channel, equal to ndarray.
#include <random>

#include "device_fixture.h"
#include "pyburn/decorators/remote/client.h"
#include "pyburn/decorators/remote/server.h"
#include "pyburn/ops/optimise.h"
#include "pyburn/runtime/generator.h"

namespace pyburn::testing {
namespace {

Ref<Backend> cpu_ref() {
  cpu();
  return Ref<Backend>(&cpu::cpu_backend());
}
Device& remote_device() {
  static Device& device = device_of(Ref<Backend>(new remote::Client(remote::in_process_channel(cpu_ref()))));
  return device;
}

// Runs the same program here and there.
template <class Program>
void expect_equal(Program program) {
  const Tensors here = program(cpu()), there = program(remote_device());
  ASSERT_EQ(here.size(), there.size());
  for (int64_t i = 0; i < here.size(); ++i) expect_same(there[i], here[i]);
}

TEST(Remote, IsNamedAfterItsServer) {
  EXPECT_EQ(remote_device().name(), "remote(ndarray)");
  EXPECT_FALSE(remote_device().backend().capabilities().host_memory);
}

TEST(Remote, ComputesWhatTheServerComputes) {
  expect_equal([](Device& d) -> Tensors {
    const Tensor x = numbers(d, {2, 3, 4}, 1), y = numbers(d, {3, 4}, 2);
    return {x + y, x * y * 2.0, exp(x), sum(x, Dims{0, 2}), bmm(x, transpose(x, 1, 2)), cast(x, DType::float16),
        cast(x * 100, DType::int64) + 1.5};
  });
}

TEST(Remote, ViewsAreLocalAndWritesReachThem) {
  expect_equal([](Device& d) -> Tensors {
    const Tensor x = numbers(d, {4, 6});
    const Tensor part = slice(x, 1, 1, 6, 2), flat = reshape(x, Dims{2, 12}), turned = transpose(x, 0, 1);
    EXPECT_EQ(flat.storage(), x.storage());
    copy_into(part, expand(slice(x, 1, 0, 1), Dims{4, 3}));
    add_into(turned, turned, 1.0);
    mul_into(select(flat, 0, 1), select(flat, 0, 1), select(flat, 0, 0));
    return {x, flat, part, reshape(turned, Dims{-1})};
  });
}

TEST(Remote, DynamicSizesComeBack) {
  expect_equal([](Device& d) -> Tensors {
    const Tensor hits = nonzero(gt(numbers(d, {5, 4}), 0));
    return {hits, hits + 1, nonzero(zeros(Dims{3}, {}, &d))};
  });
}

TEST(Remote, RandomNumbersAreTheSame) {
  expect_equal([](Device& d) -> Tensors {
    default_generator().manual_seed(3);
    const Tensor x = zeros(Dims{5}, {}, &d);
    normal_(x);
    return {rand(Dims{7}, {}, &d), randn(Dims{2, 3}, {}, &d), x};
  });
}

TEST(Remote, LayersAndOptimisers) {
  expect_equal([](Device& d) -> Tensors {
    const Tensor x = numbers(d, {2, 3, 5, 5}), w = numbers(d, {4, 3, 3, 3}, 2);
    const Tensor y = softmax(flatten(relu(conv2d(x, w, {}, Dims{1}, Dims{1})), 1), 1);
    const Tensor p = numbers(d, {4}, 3), g = numbers(d, {4}, 4), b = zeros(Dims{4}, {}, &d);
    run_update(SgdStep{.lr = 0.1, .momentum = 0.9}, {p}, {g}, std::vector<pyburn::Tensors>{{b}});
    return {y, p, b, zeros(Dims{0, 3}, {}, &d)};
  });
}

TEST(Remote, ErrorsKeepClassAndMessage) {
  auto outside = [](Device& d) {
    const Tensor x = numbers(d, {3}), at = cast(tensor(d, {1}, {7}), DType::int64);
    return [=] { index_select(x, 0, at); };
  };
  EXPECT_EQ(message_of<IndexError>(outside(remote_device())), message_of<IndexError>(outside(cpu())));
  expect_equal([](Device& d) -> Tensors { return {numbers(d, {3}) + 1}; });  // and it goes on
}

TEST(Remote, StoragesAreReleased) {
  auto server = std::make_shared<remote::Server>(cpu_ref());
  struct Shared final : remote::Channel {
    explicit Shared(std::shared_ptr<remote::Server> s) : server(std::move(s)) {}
    void send(BytesView m) override { answer = server->answer(m); }
    Bytes receive() override { return std::move(answer); }
    std::shared_ptr<remote::Server> server;
    Bytes answer;
  };
  Device& device = device_of(Ref<Backend>(new remote::Client(std::make_unique<Shared>(server))));
  Tensor x = numbers(device, {10});
  for (int i = 0; i < 100; ++i) x = x + 1;
  EXPECT_LE(server->storages(), 3);
  x = {};
  device.backend().synchronize();
  EXPECT_EQ(server->storages(), 0);
}

// Notes the requests, and answers what it is told to.
struct Damaged final : remote::Channel {
  explicit Damaged(Ref<Backend> b) : server(std::move(b)) {}
  void send(BytesView m) override {
    seen.emplace_back(m.begin(), m.end());
    answer = damage ? *damage : server.answer(m);
  }
  Bytes receive() override { return answer; }
  remote::Server server;
  std::vector<Bytes> seen;
  std::optional<Bytes> damage;
  Bytes answer;
};

TEST(Remote, MalformedAnswersRaise) {
  auto owned = std::make_unique<Damaged>(cpu_ref());
  Damaged& channel = *owned;
  Device& device = device_of(Ref<Backend>(new remote::Client(std::move(owned))));
  const Tensor x = numbers(device, {3});
  for (const Bytes& bytes :
      {Bytes{}, Bytes{std::byte(7)}, Bytes{std::byte(1), std::byte(1)}, Bytes{std::byte(1)}, Bytes{std::byte(0), std::byte(200)}}) {
    channel.damage = bytes;
    EXPECT_NE(message_of<RemoteError>([&] { values(x); }).find("malformed response"), std::string::npos);
  }
  message_of<RemoteError>([&] { remote::Client(std::make_unique<Damaged>(cpu_ref())).memory(), values(x); });
}

TEST(Remote, MalformedRequestsNeverCrash) {
  auto owned = std::make_unique<Damaged>(cpu_ref());
  Damaged& channel = *owned;
  Device& device = device_of(Ref<Backend>(new remote::Client(std::move(owned))));
  const Tensor x = numbers(device, {2, 3, 4}), w = numbers(device, {2, 3, 3, 3});
  const Tensors kept{x + 1, sum(x, Dims{1}), bmm(x, transpose(x, 1, 2)),
      index_select(x, 1, cast(zeros(Dims{2}, {}, &device), DType::int64)), nonzero(x), conv2d(numbers(device, {1, 3, 5, 5}), w),
      where(gt(x, 0), x, 1.0), rand(Dims{3}, {}, &device), softmax(x, 1), amax(x, Dims{0}), argmax(x, 1)};
  values(x);
  const std::vector<Bytes> requests = channel.seen;
  std::mt19937 random(11);
  OpNames names;
  int malformed = 0;
  for (int round = 0; round < 6000; ++round) {
    Bytes bytes = requests[random() % requests.size()];
    for (uint32_t k = 1 + random() % 3; k > 0; --k) {
      if (random() % 8 == 0) bytes.resize(random() % bytes.size() + 1);
      bytes[random() % bytes.size()] = std::byte(random() % 4 ? random() % 8 : random());
    }
    const Bytes answer = channel.server.answer(bytes);
    WireReader r(answer, names);
    if (r.boolean()) continue;
    try {
      remote::decode_error(r)();
    } catch (const RemoteError&) {
      ++malformed;
    } catch (const Error&) {
    }
  }
  EXPECT_GT(malformed, 1000);
}

Bytes request_to_allocate(uint64_t id, uint64_t floats) {
  OpNames none;
  WireWriter w(none);
  w.byte(uint8_t(remote::Command::allocate)), w.count(id), w.byte(uint8_t(DType::float32)), w.count(floats);
  return w.take();
}
bool succeeds(const Bytes& answer) { return answer.at(0) == std::byte(1); }

TEST(Remote, AServerBoundsWhatOneClientHolds) {
  remote::Server server(cpu_ref(), {.storage_bytes = 4096, .stretched_bytes = 1024});
  EXPECT_TRUE(succeeds(server.answer(request_to_allocate(1, 1000))));
  EXPECT_EQ(server.storage_bytes(), 4000);
  EXPECT_FALSE(succeeds(server.answer(request_to_allocate(2, 1000))));
  EXPECT_FALSE(succeeds(server.answer(request_to_allocate(3, uint64_t(1) << 47))));
  EXPECT_TRUE(succeeds(server.answer(request_to_allocate(4, 0))));
  EXPECT_FALSE(succeeds(server.answer(request_to_allocate(5, 20))));  // an empty storage counts as 64 bytes
  OpNames none;
  WireWriter w(none);
  w.byte(uint8_t(remote::Command::release)), w.count(1);
  EXPECT_TRUE(succeeds(server.answer(w.take())));
  EXPECT_EQ(server.storage_bytes(), 64);
}

TEST(Remote, LayoutsThatRepeatElementsAreBounded) {
  remote::Server server(cpu_ref(), {.stretched_bytes = 1024});
  ASSERT_TRUE(succeeds(server.answer(request_to_allocate(1, 1))));
  const auto download = [&](const Shape& shape) {
    OpNames none;
    WireWriter w(none);
    w.byte(uint8_t(remote::Command::download));
    encode(w, remote::RemoteTensor{1, DType::float32, {shape, Dims(shape.size(), 0), 0}});
    return succeeds(server.answer(w.take()));
  };
  EXPECT_TRUE(download({256}));
  EXPECT_FALSE(download({257}));
  EXPECT_FALSE(download({int64_t(1) << 40, 0}));  // nothing to read, but loops over the extents would not end
}

TEST(Remote, SaysWhichTransportIsMissing) {
  cpu();
  EXPECT_EQ(make_backend("remote(ndarray)")->name(), "remote(ndarray)");
  EXPECT_NE(message_of<DeviceError>([] { make_backend("remote(ws://localhost:1234)"); }).find("'ws'"), std::string::npos);
}

}  // namespace
}  // namespace pyburn::testing
