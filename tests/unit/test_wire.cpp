// The wire form: round trips of every operation, and thousands of damaged messages.
#include <random>

#include "device_fixture.h"
#include "pyburn/graph/replay.h"
#include "pyburn/inference/capture.h"
#include "pyburn/inference/graph_file.h"
#include "pyburn/ops/fill.h"
#include "pyburn/ops/random.h"

namespace pyburn::testing {
namespace {

Bytes encoded(OpRef op) {
  OpNames names;
  WireWriter w(names);
  encode(w, op);
  return w.take();
}

Ref<Graph> sample_graph() {
  const DeviceScope scope(cpu());
  const Tensor w = numbers(cpu(), {3, 4}), index = arange(2);
  return capture(cpu(), {{{Shape{-1, 3}, DType::float32}, "x"}},
      [&](const Tensors& in) -> Tensors {
        Tensor y = softmax(matmul(in[0], w) + arange(4, {}, 1, DType::float32), 1);
        copy_into(select(y, 1, 0), amax(y, Dims{1}));
        y = conv2d(reshape(index_select(y, 1, index), Dims{-1, 1, 1, 2}), ones(Dims{1, 1, 1, 1}));
        return {permute(y, Dims{1, 0, 2, 3}), where(gt(in[0], 0), in[0], 2.0), argmax(y, 0), rand(Dims{4})};
      },
      {.simplify = false});
}

// The payload without the file's header and checksum.
struct Payload {
  Bytes bytes;
  static Ref<Graph> read(BytesView bytes) {
    OpNames names;
    WireReader r(bytes, names);
    r.make_constant = [](const Meta& m, BytesView data) { return from_host(cpu(), {const_cast<std::byte*>(data.data()), m}); };
    Ref<Graph> g = decode_graph(r);
    r.end();
    return g;
  }
  explicit Payload(const Graph& g) {
    OpNames names;
    WireWriter w(names);
    w.read_constant = [](const TensorHandle& from, std::span<std::byte> to) { to_host(from, {to.data(), from.meta()}); };
    encode(w, g);
    bytes = w.take();
  }
};

TEST(Wire, NumbersRoundTrip) {
  OpNames names;
  WireWriter w(names);
  const int64_t integers[] = {0, 1, -1, 63, -64, 64, INT64_MAX, INT64_MIN};
  for (int64_t v : integers) w.integer(v);
  w.count(UINT64_MAX);
  w.real(-0.0);
  w.text("text");
  const Bytes bytes = w.take();
  WireReader r(bytes, names);
  for (int64_t v : integers) EXPECT_EQ(r.integer(), v);
  EXPECT_EQ(r.count(), UINT64_MAX);
  EXPECT_TRUE(std::signbit(r.real()));
  EXPECT_EQ(r.text(), "text");
  r.end();
}

TEST(Wire, EveryOperationRoundTrips) {
  cpu();
  for (const OpInfo* info : OpTable::global().rows()) {
    const Operation op(*info, AttrBox::fresh(*info->attrs));
    const Bytes bytes = encoded(op.ref());
    OpNames names;
    WireReader r(bytes, names);
    EXPECT_TRUE(decode_operation(r) == op) << info->name();
    r.end();
  }
}

TEST(Wire, AttributesRoundTrip) {
  cpu();
  const Full full{Shape{2, 0, 1 << 20}, Scalar(2.5), DType::bfloat16};
  const Random random{Shape{3}, Draw::bernoulli, 0.25, 7, -1, INT64_MAX, DType::float64};
  for (const Operation& op : {Operation({&op::full, &full}), Operation({&op::random, &random})}) {
    const Bytes bytes = encoded(op.ref());
    OpNames names;
    WireReader r(bytes, names);
    EXPECT_EQ(to_text(decode_operation(r).ref()), to_text(op.ref()));
  }
}

TEST(Wire, GraphsRoundTrip) {
  const Ref<Graph> g = sample_graph();
  const Payload payload(*g);
  const Ref<Graph> again = Payload::read(payload.bytes);
  EXPECT_EQ(to_text(*g), to_text(*again));
  EXPECT_EQ(Payload(*again).bytes, payload.bytes);
  EXPECT_EQ(hash(*g), hash(*again));
}

TEST(Wire, UnknownOperationsAreNamed) {
  cpu();
  Bytes bytes = encoded(Operation(op::full, AttrBox::fresh(*op::full.attrs)).ref());
  bytes[2] = std::byte('b');  // "full" -> "bull"
  OpNames names;
  WireReader r(bytes, names);
  EXPECT_NE(message_of<FormatError>([&] { decode_operation(r); }).find("'bull'"), std::string::npos);
}

TEST(Wire, ClaimedSizesAreCheckedFirst) {
  cpu();
  OpNames names;
  for (auto claim : {+[](WireWriter& w) { w.count(UINT64_MAX); }, +[](WireWriter& w) { w.count(1ull << 40); }}) {
    WireWriter w(names);
    claim(w);
    const Bytes bytes = w.take();
    WireReader r(bytes, names);
    message_of<FormatError>([&] { decode_graph(r); });
    WireReader s(bytes, names);
    message_of<FormatError>([&] { s.text(); });
  }
  WireWriter w(names);
  encode(w, Meta{Shape{1 << 30, 1 << 30, 1 << 30}, DType::float64});
  const Bytes bytes = w.take();
  WireReader r(bytes, names);
  message_of<FormatError>([&] { decode_meta(r); });
}

// A mutated graph is refused or, where it is still one, runs or raises; nothing else.
TEST(Wire, DamagedGraphsNeverCrash) {
  const Payload good(*sample_graph());
  std::mt19937 random(7);
  auto pick = [&](size_t n) { return size_t(random() % n); };
  int refused = 0, failed = 0, ran = 0;
  for (int round = 0; round < 6000; ++round) {
    Bytes bytes = good.bytes;
    for (size_t k = 1 + pick(3); k > 0; --k) {
      switch (pick(4)) {
        case 0:
          bytes[pick(bytes.size())] = std::byte(random());
          break;
        case 1:
          bytes[pick(bytes.size())] ^= std::byte(1 << pick(8));
          break;
        case 2:
          bytes.erase(bytes.begin() + int64_t(pick(bytes.size())));
          break;
        case 3:
          bytes.insert(bytes.begin() + int64_t(pick(bytes.size())), std::byte(random()));
          break;
      }
    }
    if (round % 50 == 0) bytes.resize(pick(bytes.size()));
    Ref<Graph> g;
    try {
      g = Payload::read(bytes);
    } catch (const FormatError&) {
      ++refused;
      continue;
    }
    try {
      Replay replay(g, cpu());
      Tensors in;
      int64_t elements = 0;
      for (const Meta& m : g->values) elements = std::max(elements, m.shape.numel());
      if (elements > 1 << 16) continue;
      for (ValueId v : g->inputs) in.push_back(zeros(g->values[size_t(v)].shape, g->values[size_t(v)].dtype, &cpu()));
      replay.run(in);
      ++ran;
    } catch (const Error&) {
      ++failed;
    }
  }
  EXPECT_GT(refused, 1000);
  EXPECT_GT(ran, 100);
  EXPECT_GT(failed, 10);
}

}  // namespace
}  // namespace pyburn::testing
