// Random programs mean the same whatever a session does to them: run eagerly, as a captured graph, after each pass, after all of them, and
// as a session. The input of a run is the list of choices that a program is made of.
#include <cmath>

#include "harness/target.h"
#include "pyburn/graph/passes.h"
#include "pyburn/graph/replay.h"
#include "pyburn/inference/capture.h"
#include "pyburn/inference/control_flow.h"
#include "pyburn/inference/session.h"
#include "pyburn/pyburn.h"
#include "pyburn/runtime/transfer.h"
#include "pyburn/support/error.h"

namespace pyburn {
namespace {

Device& home() { return device("inner(ndarray)"); }

Tensor numbers(const Shape& shape, uint32_t seed) {
  std::vector<float> values(size_t(shape.numel()));
  uint32_t state = seed * 2654435761u + 99991u;
  for (float& v : values) {
    state = state * 1664525u + 1013904223u;
    v = float(state >> 8) / float(1 << 23) - 1.0f;
  }
  return Tensor(from_host(home(), {values.data(), {shape, DType::float32}}));
}

class Choices {
 public:
  explicit Choices(BytesView bytes) : rest_(bytes) {}
  bool over() const { return rest_.empty(); }
  int64_t below(int64_t n) {
    if (rest_.empty()) return 0;
    const int64_t v = int64_t(rest_[0]) % n;
    rest_ = rest_.subspan(1);
    return v;
  }
  bool coin() { return below(2) == 1; }

 private:
  BytesView rest_;
};

// A program: the same choices make the same calls. Values stay small, so that rounding stays small.
class Program {
 public:
  Program(BytesView choices, int64_t n) : choices_(choices), free_(choices_.coin()), n_(n) {
    const Shape shapes[] = {{2, 3, 5, 4}, {2, 4}, {2, 3, 4}, {2, 6, 4, 4}};
    shape_ = shapes[choices_.below(4)];
    if (free_) shape_[0] = n;
  }
  bool has_free_extent() const { return free_; }
  Shape input_shape() const { return shape_; }

  Tensors run(const TensorHandle& x) {
    values_ = {Tensor(x)};
    for (int step = 0; step < 24 && !choices_.over(); ++step) add(choices_.below(30));
    Tensors results;
    for (int64_t k = 1 + choices_.below(3); k > 0; --k) results.push_back(pick());
    return results;
  }

 private:
  Tensor& pick() { return values_[size_t(std::max<int64_t>(0, int64_t(values_.size()) - 1 - choices_.below(6)))]; }
  void keep(Tensor t) { values_.push_back(std::move(t)); }
  Tensor constant(Shape shape) { return numbers(shape, uint32_t(choices_.below(64))); }
  bool can_write(const Tensor& t) const { return !t.layout().has_overlap() && t.storage() != values_[0].storage(); }
  int axis_of(const Tensor& t) { return int(choices_.below(std::max(1, t.rank()))); }

  // As users write them; some are near what a pass recognises, others are not.
  Tensor written_out_activation(const Tensor& x) {
    switch (choices_.below(4)) {
      case 0:
        return x * 0.5 * (erf(x * 0.70710678118654752) + 1.0);
      case 1:
        return x * 0.5 * (tanh((x + x * x * x * 0.044715) * 0.79788456080286536) + 1.0);
      case 2:
        return x * sigmoid(x);
      default: {
        const Tensor y = pick();
        return x * sigmoid(y.shape() == x.shape() ? y : Tensor(x * 1.702));
      }
    }
  }
  Tensor written_out_norm(const Tensor& x) {
    const Dims last{x.rank() - 1};
    const Tensor c = coin() ? Tensor(x - mean(x, last, true)) : x;
    const Tensor y = c / sqrt(mean(c * c, last, true) + (coin() ? 0.25 : 1.0));
    const Dims row{x.shape()[x.rank() - 1]};
    // Never the bare rows: their sums are 0 but for rounding, and a comparison would tell roundings apart.
    return y * constant(row) * 0.5 + (coin() ? constant(row) : Tensor(constant(row) * x));
  }

  void add(int64_t what) {
    Tensor x = pick();
    if (x.numel() == 0 || x.numel() > 4096) return;
    switch (what) {
      case 0:
        return keep(unary(x));
      case 1:
        return keep(binary(x, pick()));
      case 2:
        return keep(binary(x, per_channel(x)));
      case 3:
        return keep(coin() ? x * 0.5 : x + 0.25);
      case 4:
        if (x.rank() >= 2) keep(transpose(x, axis_of(x), axis_of(x)));
        return;
      case 5:
        return keep(reshape(x, coin() || x.rank() == 0 ? Dims{-1} : Dims{x.shape()[0], -1}));
      case 6:
        if (const int a = axis_of(x); x.rank() > 0 && x.shape()[a] > 1) keep(slice(x, a, 1, x.shape()[a], 1 + choices_.below(2)));
        return;
      case 7:
        return keep(unsqueeze(x, 0));
      case 8:
        if (x.rank() > 0) keep(sum(x, Dims{axis_of(x)}, coin()) * 0.25);
        return;
      case 9:
        if (x.rank() > 0) keep(coin() ? mean(x, Dims{x.rank() - 1}, true) : amax(x, Dims{axis_of(x)}, coin()));
        return;
      case 10:
        if (x.rank() >= 2) keep(matmul(x, constant({x.shape()[x.rank() - 1], 1 + choices_.below(5)})) * 0.25);
        return;
      case 11:
        if (x.rank() >= 1) {
          const int64_t out = 1 + choices_.below(4);
          keep(linear(x, constant({out, x.shape()[x.rank() - 1]}), coin() ? constant({out}) : Tensor()) * 0.25);
        }
        return;
      case 12:
      case 13:
        return convolve(x);
      case 14:
        if (x.rank() == 4)
          keep(batch_norm(x, constant({x.shape()[1]}), constant({x.shape()[1]}) * 0.25 + 1.0, per_channel_1d(x), per_channel_1d(x)));
        return;
      case 15:
        if (x.rank() > 0) keep(softmax(x, axis_of(x)));
        return;
      case 16:
        if (x.rank() > 0) keep(cumsum(x, axis_of(x)) * 0.25);
        return;
      case 17: {
        const Tensor y = pick();
        if (x.rank() > 0 && x.shape() == y.shape()) keep(cat({x, y}, axis_of(x)));
        return;
      }
      case 18:
        if (can_write(x)) x.relu_();
        return;
      case 19:
        if (can_write(x)) x.mul_(0.5);
        return;
      case 20: {
        const Tensor y = pick();
        if (can_write(x) && x.shape() == y.shape()) x.add_(y * 0.5);
        return;
      }
      case 21:
        if (const int a = axis_of(x); can_write(x) && x.rank() > 0) Tensor(select(x, a, 0)).zero_();
        return;
      case 27:
        return keep(written_out_activation(x));
      case 28:
        if (x.rank() > 0 && x.shape()[x.rank() - 1] > 1) keep(written_out_norm(x));
        return;
      case 22:
        return keep(where(gt(x, 0.0), x, pick_like(x)));
      case 23:
        return branch(x);
      case 24:
        return loop(x);
      case 25:
        return scan_over(x);
      case 26:
        return count(x);
      default:
        return keep(clone(x));
    }
  }

  bool coin() { return choices_.coin(); }

  // What a graph inside does: a few operations on what it is given, and on a tensor of the program around it.
  CapturedFunction inner(const Tensor& outside, bool nested) {
    const int64_t what = choices_.below(4), times = 1 + choices_.below(2);
    return [=](const Tensors& in) -> Tensors {
      Tensor y = in[0];
      for (int64_t k = 0; k < times; ++k) {
        if (what == 0) y = tanh(y + outside);
        else if (what == 1) y = clone(y * 0.5).relu_();
        else if (what == 2) y = where(gt(y, 0.0), outside, y);
        else y = y - mean(y, {}, false);
      }
      if (!nested) return {y};
      return cond(
          sum(y - 0.1), [=](const Tensors& t) -> Tensors { return {Tensor(t[0]) * outside}; },
          [](const Tensors& t) -> Tensors { return {neg(Tensor(t[0]))}; }, {y});
    };
  }
  void branch(const Tensor& x) {
    const CapturedFunction yes = inner(pick_like(x), coin()), no = inner(pick_like(x), false);
    // Not at 0: sums of what was centred are rounding errors, whose sign a pass may change.
    keep(Tensor(cond(gt(sum(x), 0.31), yes, no, {x})[0]));
  }
  void loop(const Tensor& x) {
    const CapturedFunction body = inner(pick_like(x), coin());
    const int64_t steps = choices_.below(4);
    const Tensor start = zeros(Dims{}, DType::int64, &home());
    // Eager, a loop without steps gives what it was given; captured, a copy.
    keep(clone(while_loop([=](const Tensors& t) -> Tensors { return {lt(Tensor(t[0]), steps)}; },
        [=](const Tensors& t) -> Tensors {
          return {Tensor(t[0]) + 1, body({t[1]})[0]};
        },
        {start, x})[1]));
  }
  void scan_over(const Tensor& x) {
    const int axis = axis_of(x);
    if (x.rank() == 0 || x.shape()[axis] == 0 || x.shape()[axis] > 16) return;
    const bool reverse = coin(), first = coin();
    const Tensors out = scan(
        [=](const Tensors& t) -> Tensors {
          const Tensor carried = t[0], entry = t[1];
          return {carried * 0.5 + entry, tanh(carried - entry)};
        },
        {Tensor(select(x, axis, 0)) * 0.25}, {x}, axis, reverse);
    keep(Tensor(out[first ? 0 : 1]));
  }
  // Sizes that follow from values, brought back to one that does not: what a program does next may not depend on them.
  void count(const Tensor& x) {
    const Tensor places = nonzero(gt(x, coin() ? 0.0 : 0.5));
    const int64_t n = places.shape()[0];
    const Tensor numbers = cast(arange(Scalar(0), Scalar(n), 1, DType::int64, &home()), DType::float32);
    keep(x * 0.5 + sum(reshape(numbers, Dims{n, 1}) * 0.01) * 0.1);
    if (x.rank() > 0 && coin()) keep(x + sum(cast(places, DType::float32)) * 0.001);
  }
  Tensor pick_like(const Tensor& x) {
    const Tensor y = pick();
    return y.shape() == x.shape() ? y : tanh(x);
  }
  Tensor unary(const Tensor& x) {
    switch (choices_.below(7)) {
      case 0:
        return relu(x);
      case 1:
        return tanh(x);
      case 2:
        return sigmoid(x);
      case 3:
        return neg(x);
      case 4:
        return abs(x);
      case 5:
        return gelu(x);
      default:
        return clamp(x, Scalar(-0.5), Scalar(0.75));
    }
  }
  Tensor binary(const Tensor& x, const Tensor& y) {
    if (!(x.shape() == y.shape()) && y.numel() > 1 && !broadcasts(x.shape(), y.shape())) return tanh(x);
    switch (choices_.below(4)) {
      case 0:
        return tanh(x + y);
      case 1:
        return x - y * 0.5;
      case 2:
        return tanh(x) * y;
      default:
        return maximum(x, y);
    }
  }
  static bool broadcasts(const Shape& a, const Shape& b) {
    for (int i = 1; i <= std::min(a.rank(), b.rank()); ++i) {
      const int64_t m = a[a.rank() - i], n = b[b.rank() - i];
      if (m != n && m != 1 && n != 1) return false;
    }
    return true;
  }
  Tensor per_channel_1d(const Tensor& x) { return constant({x.shape()[1]}); }
  Tensor per_channel(const Tensor& x) {
    if (x.rank() < 3) return constant({1});
    Dims shape(x.rank(), 1);
    shape[1] = x.shape()[1];
    return reshape(per_channel_1d(x), shape);
  }
  void convolve(const Tensor& x) {
    if (x.rank() != 4 || x.shape()[2] < 3 || x.shape()[3] < 3) return;
    const int64_t channels = x.shape()[1], size = 1 + 2 * choices_.below(2), groups = coin() && channels % 3 == 0 ? 3 : 1;
    const int64_t out = groups * (1 + choices_.below(3));
    const Tensor w = constant({out, channels / groups, size, size}) * 0.25, b = coin() ? constant({out}) : Tensor();
    Tensor y = conv2d(x, w, b, Dims{1 + choices_.below(2)}, Dims{size / 2}, Dims{1}, groups);
    if (coin()) y = batch_norm(y, constant({out}), constant({out}) * 0.25 + 1.0, constant({out}), constant({out}));
    if (coin()) y = y * reshape(constant({out}), Dims{out, 1, 1});
    if (coin()) y = y + reshape(constant({out}), Dims{1, out, 1, 1});
    if (coin() && y.shape() == x.shape()) y = y + x;
    if (coin()) y.relu_();
    keep(y);
  }

  Choices choices_;
  bool free_;
  int64_t n_;
  Shape shape_;
  std::vector<Tensor> values_;
};

void require_same(const Tensors& expected, const Tensors& got, const char* what) {
  require<ValueError>(expected.size() == got.size(), "{}: another number of results", what);
  for (int64_t i = 0; i < got.size(); ++i) {
    require<ValueError>(expected[i].meta() == got[i].meta(), "{}: result {} is {} {}, expected {} {}", what, i, got[i].dtype(),
        got[i].shape(), expected[i].dtype(), expected[i].shape());
    const std::vector<std::byte> a = host_bytes(expected[i]), b = host_bytes(got[i]);
    for (size_t at = 0; at + 4 <= a.size(); at += 4) {
      float x, y;
      std::memcpy(&x, a.data() + at, 4), std::memcpy(&y, b.data() + at, 4);
      if (x == y || (std::isnan(x) && std::isnan(y))) continue;
      require<ValueError>(std::abs(x - y) <= 2e-4f * (1 + std::abs(x)), "{}: result {} differs at {}: got {}, expected {}", what, i,
          int64_t(at / 4), double(y), double(x));
    }
  }
}

fuzz::Outcome run(BytesView input) {
  if (input.size() > 4096) return fuzz::Outcome::refused;
  const DeviceScope scope(home());
  const bool free = Program(input, 2).has_free_extent();
  Shape shape = Program(input, 2).input_shape();
  if (free) shape[0] = -1;
  // A program whose calls depend on the free extent (it broadcasts, or is large) is no graph for all sizes.
  Ref<Graph> graph;
  const auto function = [&](const Tensors& in) { return Program(input, in[0].shape()[0]).run(in[0]); };
  try {
    graph = capture(home(), {{{shape, DType::float32}, "x"}}, function, {.simplify = false});
  } catch (const Error&) {
    return fuzz::Outcome::refused;
  }
  Session session(graph, home());
  for (int64_t n : {2, 5}) {
    if (free) shape[0] = n;
    const Tensor x = numbers(shape, uint32_t(n));
    const auto given = [&] { return Tensors{clone(x)}; };
    const auto replayed = [&](const Ref<Graph>& g) { return Replay(g, home()).run(given()); };
    // The choices of a program may depend on its sizes, so at another size than that of the capture the graph is the reference.
    Tensors expected;
    try {
      expected = free ? replayed(graph) : function(given());
    } catch (const Error&) {  // at this size the program itself has no result: it reduces an empty axis, say
      return fuzz::Outcome::refused;
    }
    if (!free) require_same(expected, replayed(graph), "captured");
    for (const GraphPass& pass : all_passes()) require_same(expected, replayed(pass.run(*graph)), pass.name);
    require_same(expected, replayed(optimise(*graph)), "all passes");
    require_same(expected, session.run(given()), "session");
    require_same(expected, session.run(given()), "second run of the session");
    if (!free) break;
  }
  return fuzz::Outcome::accepted;
}

std::vector<Bytes> seeds() {
  std::vector<Bytes> made;
  for (uint64_t seed = 0; seed < 32; ++seed) {
    fuzz::Random random(seed);
    Bytes bytes(40 + random.below(120));
    for (std::byte& b : bytes) b = random.byte();
    made.push_back(std::move(bytes));
  }
  return made;
}

void mutate(Bytes& input, fuzz::Random& random, const std::vector<Bytes>& seeds) {
  if (random.one_in(4)) {
    input.resize(20 + random.below(180));
    for (std::byte& b : input) b = random.byte();
    return;
  }
  fuzz::mutate_bytes(input, random, seeds);
}

}  // namespace

const fuzz::Target fuzz::target{"graph_passes_fuzz", seeds, mutate, run};

}  // namespace pyburn
