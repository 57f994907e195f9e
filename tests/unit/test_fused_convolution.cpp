// A fused body that begins with a convolution gives the bits of its operations one after the other, whatever the algorithm.
#include "cpu_test.h"
#include "pyburn/backends/cpu/fused/product.h"
#include "pyburn/backends/cpu/tiles.h"
#include "pyburn/ops/activation.h"
#include "pyburn/ops/binary.h"
#include "pyburn/ops/conv.h"
#include "pyburn/ops/fused.h"
#include "pyburn/ops/movement.h"
#include "pyburn/ops/reduce.h"

namespace pyburn::cpu {
namespace {

// Runs operations one after the other and writes them down as a body.
class Recorder {
 public:
  TensorHandle input(const TensorHandle& x) {
    body_->inputs.push_back(value_of(x));
    inputs_.push_back(x);
    return x;
  }
  // The result gets its layout from `like`, or from the door where there is none: algorithms, and with them bits, may follow from it.
  template <class A>
  TensorHandle run(const OpInfo& op, const A& attrs, std::initializer_list<TensorHandle> in, Layout (*like)(const Shape&) = nullptr) {
    InputList list;
    GraphNode node{Operation(OpRef{&op, &attrs}), {}, {}};
    for (const TensorHandle& x : in) {
      list.add(x);
      node.in.push_back(x.defined() ? find(x) : -1);
    }
    TensorHandle y = call(op, attrs, list);
    if (like) {
      const TensorHandle target = make_tensor(default_device(), y.dtype(), like(y.shape()), cpu_backend().allocate(y.dtype(), y.numel()));
      call_into(op, attrs, list, target);
      y = target;
    }
    node.out.push_back(value_of(y));
    body_->nodes.push_back(node);
    return y;
  }
  void output(const TensorHandle& y) {
    body_->outputs.push_back(find(y));
    expected_.push_back(y);
  }

  // The outputs of the fused body, which must be fused, in memory of the layouts that `like` gives.
  void check(Layout (*like)(const Shape&)) const {
    for (int threads : {1, 2}) {
      set_num_threads(threads);
      Tensors out;
      for (const TensorHandle& y : expected_)
        out.push_back(make_tensor(default_device(), y.dtype(), like(y.shape()), cpu_backend().allocate(y.dtype(), y.numel())));
      run_into({out.data(), size_t(out.size())});
      for (size_t i = 0; i < expected_.size(); ++i)
        ASSERT_EQ(in_order(out[int64_t(i)]), in_order(expected_[i])) << "output " << i << " with " << threads << " threads";
    }
  }
  void run_into(Outputs out) const {
    InputList in;
    for (const TensorHandle& x : inputs_) in.add(x);
    ASSERT_TRUE(run_product(Fused{body_}, in, out)) << "the body was not fused";
  }

 private:
  static std::vector<double> in_order(const TensorHandle& x) {
    const Tensor y = contiguous(cast(x, DType::float64));
    return std::vector<double>(y.data<double>(), y.data<double>() + y.numel());
  }
  ValueId value_of(const TensorHandle& x) {
    known_.push_back(x);
    return body_->add_value(x.meta());
  }
  ValueId find(const TensorHandle& x) const {
    for (size_t i = 0; i < known_.size(); ++i)
      if (known_[i].is_same(x)) return ValueId(i);
    ADD_FAILURE() << "an operand that nobody made";
    return -1;
  }

  Ref<Graph> body_ = make_ref<Graph>();
  std::vector<TensorHandle> inputs_, known_, expected_;
};

Layout channels_last(const Shape& s) {
  return s.rank() == 4 ? Layout{s, Dims{s[1] * s[2] * s[3], 1, s[1] * s[3], s[1]}} : contiguous_layout(s);
}

struct Case {
  const char* algorithm;
  Shape input, weight;
  int64_t stride = 1, padding = 0, groups = 1, dilation = 1;
};
const Case kCases[] = {
    {"pointwise", {2, 20, 14, 14}, {40, 20, 1, 1}},
    {"pointwise, small planes", {1, 96, 7, 7}, {200, 96, 1, 1}},
    {"pointwise, deep", {2, 300, 30, 31}, {50, 300, 1, 1}},
    {"pointwise, one output", {40, 24, 5, 5}, {1, 24, 1, 1}},
    {"pointwise with steps", {3, 24, 29, 29}, {40, 24, 1, 1}, 2},
    {"pointwise with groups", {2, 24, 20, 20}, {36, 12, 1, 1}, 1, 0, 2},
    {"product per image", {1, 40, 2, 2}, {50, 40, 1, 1}},
    {"direct", {2, 24, 25, 25}, {70, 24, 3, 3}, 2, 1},
    {"direct, dilated", {1, 40, 20, 17}, {20, 40, 3, 3}, 1, 2, 1, 2},
    {"direct with groups", {1, 40, 20, 20}, {40, 20, 5, 5}, 1, 2, 2},
    {"winograd", {2, 32, 30, 30}, {80, 32, 3, 3}, 1, 1},
    {"winograd, small images", {9, 16, 7, 9}, {40, 16, 3, 3}, 1, 1},
    {"winograd, wide", {1, 16, 21, 230}, {32, 16, 3, 3}, 1, 1},
    {"winograd, many blocks", {3, 16, 60, 60}, {32, 16, 3, 3}, 1, 1},
    {"planes", {2, 3, 60, 70}, {16, 3, 3, 3}, 1, 1},
    {"planes with steps", {2, 3, 61, 70}, {20, 3, 7, 7}, 2, 3},
    {"planes of groups", {1, 24, 20, 20}, {24, 4, 3, 3}, 1, 1, 6},
    {"depthwise 3x3", {2, 20, 60, 60}, {20, 1, 3, 3}, 1, 1, 20},
    {"depthwise 3x3 with steps", {2, 20, 57, 57}, {20, 1, 3, 3}, 2, 1, 20},
    {"depthwise 5x5", {2, 30, 28, 28}, {30, 1, 5, 5}, 1, 2, 30},
    {"depthwise, small planes", {2, 301, 7, 7}, {301, 1, 3, 3}, 1, 1, 301},
    {"depthwise 5x5, small planes", {1, 300, 7, 7}, {300, 1, 5, 5}, 1, 2, 300},
    {"depthwise, large planes", {1, 3, 200, 200}, {3, 1, 3, 3}, 1, 1, 3},
};

class FusedConvolution : public CpuTest {
 protected:
  // The convolution and the inputs that stand beside its result: of its shape, and one number per channel.
  struct Begun {
    TensorHandle y, same, scale;
  };
  Begun begin(Recorder& r, const Case& c, DType dtype, Layout (*like)(const Shape&)) {
    const auto pair = [](int64_t n) { return Dims{n, n}; };
    const TensorHandle x = r.input(in_layout(random(c.input, dtype), like)), w = r.input(random(c.weight, dtype));
    const TensorHandle bias = r.input(random(Shape{c.weight[0]}, dtype));
    return beside(r, r.run(op::conv2d, Conv{pair(c.stride), pair(c.padding), pair(c.dilation), c.groups}, {x, w, bias}, like), dtype, like);
  }
  Begun begin_transposed(Recorder& r, const Case& c, DType dtype, Layout (*like)(const Shape&)) {
    const auto pair = [](int64_t n) { return Dims{n, n}; };
    const TensorHandle w = random(c.weight, dtype);
    const Conv forward{pair(c.stride), pair(c.padding), pair(c.dilation), c.groups};
    InputList in;
    const Tensor x = random(c.input, dtype);
    in.add(x), in.add(w);
    const TensorHandle dy = r.input(in_layout(random(call(op::conv2d, forward, in).shape(), dtype), like)), weight = r.input(w);
    const ConvGrad attrs{c.input, pair(c.stride), pair(c.padding), pair(c.dilation), c.groups};
    return beside(r, r.run(op::conv2d_input, attrs, {dy, weight}), dtype, like);
  }
  Begun beside(Recorder& r, const TensorHandle& y, DType dtype, Layout (*like)(const Shape&)) {
    Dims channel(y.shape().rank(), 1);
    channel[1] = y.shape()[1];
    return {y, r.input(in_layout(random(y.shape(), dtype), like)), r.input(expand(random(Shape(channel), dtype), Dims(y.shape())))};
  }
  static TensorHandle in_layout(const TensorHandle& x, Layout (*like)(const Shape&)) {
    const TensorHandle y = make_tensor(default_device(), x.dtype(), like(x.shape()), cpu_backend().allocate(x.dtype(), x.numel()));
    convert_into(x, y);
    return y;
  }

  template <class Begin>
  void check_bodies(Begin begin, Layout (*like)(const Shape&)) {
    {
      Recorder r;  // conv, activation
      const Begun b = begin(r);
      r.output(r.run(op::relu, NoAttrs(), {b.y}));
      r.check(like);
    }
    {
      Recorder r;  // a normalisation that is not folded, an activation, a residual; the result of the convolution is wanted as well
      const Begun b = begin(r);
      const TensorHandle scaled = r.run(op::mul, Binary(), {b.y, b.scale});
      const TensorHandle sum = r.run(op::add, Additive{Side::none, {}, 0.5}, {r.run(op::silu, NoAttrs(), {scaled}), b.same});
      r.output(b.y);
      r.output(sum);
      r.check(like);
    }
    {
      Recorder r;  // x * sigmoid(x), clamped, and its largest element of each plane
      const Begun b = begin(r);
      const TensorHandle gated = r.run(op::mul, Binary(), {b.y, r.run(op::sigmoid, NoAttrs(), {b.y})});
      const TensorHandle bounded = r.run(op::hardtanh, Hardtanh{-0.5, 0.5}, {gated});
      r.output(bounded);
      r.output(r.run(op::amax, Reduce{Dims{2, 3}, true, b.y.dtype()}, {bounded}));
      r.check(like);
    }
  }
};

TEST_F(FusedConvolution, GivesTheSameBits) {
  for (const Case& c : kCases)
    for (DType dtype : {DType::float32, DType::float64}) {
      SCOPED_TRACE(std::string(c.algorithm) + " " + to_text(dtype));
      check_bodies([&](Recorder& r) { return begin(r, c, dtype, contiguous_layout); }, contiguous_layout);
    }
}

TEST_F(FusedConvolution, GivesTheSameBitsInHalfPrecision) {
  for (const Case& c : kCases)
    for (DType dtype : {DType::float16, DType::bfloat16}) {
      SCOPED_TRACE(std::string(c.algorithm) + " " + to_text(dtype));
      check_bodies([&](Recorder& r) { return begin(r, c, dtype, contiguous_layout); }, contiguous_layout);
    }
}

TEST_F(FusedConvolution, GivesTheSameBitsWithChannelsLast) {
  for (const Case& c : kCases) {
    SCOPED_TRACE(c.algorithm);
    check_bodies([&](Recorder& r) { return begin(r, c, DType::float32, channels_last); }, channels_last);
  }
}

TEST_F(FusedConvolution, GivesTheSameBitsTransposed) {
  for (const Case& c : kCases)
    for (auto like : {contiguous_layout, channels_last}) {
      SCOPED_TRACE(c.algorithm);
      check_bodies([&](Recorder& r) { return begin_transposed(r, c, DType::float32, like); }, like);
    }
}

TEST_F(FusedConvolution, GoesOnInAnotherShape) {
  Recorder r;
  const TensorHandle x = r.input(random({2, 8, 6, 6})), w = r.input(random({8, 8, 3, 3}));
  const TensorHandle y = r.run(op::conv2d, Conv{{1, 1}, {1, 1}, {1, 1}, 1}, {x, w, TensorHandle()});
  r.output(r.run(op::relu, NoAttrs(), {r.run(op::view, View{Shape{2, 288}}, {y})}));
  r.check(contiguous_layout);
}

TEST_F(FusedConvolution, OfVolumes) {
  for (const Shape& weight : {Shape{8, 6, 3, 3, 3}, Shape{8, 6, 1, 1, 1}}) {
    Recorder r;
    const TensorHandle x = r.input(random({2, 6, 9, 10, 11})), w = r.input(random(weight)), bias = r.input(random({8}));
    const TensorHandle y = r.run(op::conv3d, Conv{{1, 1, 1}, {0, 0, 0}, {1, 1, 1}, 1}, {x, w, bias});
    r.output(r.run(op::relu, NoAttrs(), {y}));
    r.check(contiguous_layout);
  }
}

// The result of the convolution is made where an output lies; that the residual lies in the same storage, before it, does not matter. That
// it lies in the same place does: then it must be read before it is overwritten.
TEST_F(FusedConvolution, InOneArena) {
  const Shape shape{1, 12, 20, 20};
  const Tensor x = random({1, 12, 20, 20}), w = random({12, 12, 3, 3}), residual = random(shape);
  const Conv attrs{{1, 1}, {1, 1}, {1, 1}, 1};
  const auto expected = values(relu(conv2d(x, w, TensorHandle(), attrs.stride, attrs.padding, attrs.dilation, 1) + residual));
  for (int64_t offset : {int64_t(0), shape.numel()}) {
    const Ref<Storage> arena = cpu_backend().allocate(DType::float32, 2 * shape.numel());
    Layout behind = contiguous_layout(shape);
    behind.offset = offset;
    const TensorHandle first = make_tensor(default_device(), DType::float32, contiguous_layout(shape), arena);
    convert_into(residual, first);
    Recorder r;
    r.input(x), r.input(w), r.input(first);
    const TensorHandle y = r.run(op::conv2d, attrs, {x, w, TensorHandle()});
    r.output(r.run(op::relu, NoAttrs(), {r.run(op::add, Additive(), {y, first})}));
    TensorHandle out = make_tensor(default_device(), DType::float32, behind, arena);
    r.run_into({&out, 1});
    EXPECT_EQ(values(out), expected) << "output at " << offset;
  }
}

}  // namespace
}  // namespace pyburn::cpu
