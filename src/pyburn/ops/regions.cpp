// Regions of images: non-maximum suppression of boxes, and regions brought to one size.
#include "pyburn/ops/regions.h"

#include "pyburn/ops/generated/regions.h"
#include "pyburn/ops/rules.h"

namespace pyburn {
namespace {

void check_boxes(const Meta& x, const Meta& boxes) {
  require<DTypeError>(is_floating(x.dtype), "expected a floating dtype: got {}", x.dtype);
  require<DTypeError>(is_floating(boxes.dtype), "expected boxes of a floating dtype: got {}", boxes.dtype);
  require(boxes.shape.rank() == 2 && boxes.shape[1] == 5, "expected boxes (K, 5), with the index of the image first: got {}", boxes.shape);
}
Meta infer_align(const RoiAlign& a, Metas in) {
  check_boxes(in[0], in[1]);
  const Shape& x = in[0].shape;
  require(x.rank() == 4, "expected an input of 4 axes: got {}", x);
  require<ValueError>(
      a.size.size() == 2 && a.size[0] > 0 && a.size[1] > 0, "expected an output_size of 2 positive numbers: got {}", a.size);
  return {Shape{in[1].shape[0], x[1], a.size[0], a.size[1]}, in[0].dtype};
}
Meta infer_align_input(const RoiAlign& a, Metas in) {
  check_boxes(in[0], in[1]);
  const Shape& dy = in[0].shape;
  require(dy.rank() == 4 && dy[0] == in[1].shape[0], "results do not fit the boxes: got {} for {}", dy, in[1].shape);
  require<ValueError>(a.size.size() == 4, "expected an input_size of 4 numbers: got {}", a.size);
  for (const int64_t n : a.size) require<ValueError>(n >= 0, "sizes must not be negative: got {}", a.size);
  require(a.size[1] == dy[1], "expected {} channels: got {}", a.size[1], dy);
  return {Shape{a.size[0], a.size[1], a.size[2], a.size[3]}, in[0].dtype};
}
Grads grad_align(const RoiAlign& a, const GradContext& c) {
  const Shape& x = c.meta(0).shape;
  return {roi_align_input(c.dy(), c.input(1), {x[0], x[1], x[2], x[3]}, a.spatial_scale, a.sampling_ratio, a.aligned), TensorHandle()};
}
Grads grad_align_input(const RoiAlign& a, const GradContext& c) {
  const Shape& dy = c.meta(0).shape;
  return {roi_align(c.dy(), c.input(1), {dy[2], dy[3]}, a.spatial_scale, a.sampling_ratio, a.aligned), TensorHandle()};
}

}  // namespace

namespace op {
constinit OpInfo nms = define<Nms, nullptr>({.schema = "nms(Tensor boxes, Tensor scores, float iou_threshold) -> Tensor",
    .doc = "Non-maximum suppression: the indices of the boxes (x1, y1, x2, y2) that are kept, the highest score first. A box is dropped "
           "where its intersection over union with one that is kept is more than iou_threshold. torchvision.ops.nms.",
    .kind = Kind::dynamic,
    .no_grad = "the result is an index",
    .torch = "torch_nms",
    .example = "pyburn.nms(pyburn.tensor([[0., 0., 2., 2.], [0., 0., 2., 1.9], [3., 3., 4., 4.]]), pyburn.tensor([0.5, 0.9, 0.1]), 0.5)",
    .samples = R"(
tensor([[0., 0., 4., 4.], [1., 1., 5., 5.], [0.5, 0., 4., 4.], [6., 6., 8., 9.]]).constant, tensor([0.5, 0.75, 0.25, 0.125]).constant, 0.5
tensor([[0., 0., 4., 4.], [1., 1., 5., 5.], [0.5, 0., 4., 4.], [6., 6., 8., 9.]]).constant, tensor([0.5, 0.5, 0.75, 0.75]).constant, 0.25
tensor([[1., 1., 1., 1.], [1., 1., 1., 1.], [0., 0., 2., 2.]]).constant, tensor([0.5, 0.75, 0.25]).constant, 0.0
tensor([[0., 1., 0.5, 6.], [0., 1., 0., 6.], [4., 5., 4., 8.], [4., 5., 4., 9.]]).constant.T, tensor([0.5, 0.75, 0.25, 1.0]).constant, 0.5
tensor([[0., 0., 4., 4.]]).constant.expand(3, 4), tensor([0.5]).constant.expand(3), 0.5
tensor([[0., 0., 4., 4.], [1., 1., 5., 5.]], dtype=f64).constant, tensor([0.5, 0.75], dtype=f64).constant, 0.25
t(0, 4).constant, t(0).constant, 0.5
t(3, 3).constant, t(3).constant, 0.5 ! boxes
t().constant, t().constant, 0.5 ! boxes
t(3, 4).constant, t(2).constant, 0.5 ! scores
t(3, 4, dtype=i64), t(3).constant, 0.5 ! floating)"});
constinit OpInfo roi_align = define<RoiAlign, infer_align, grad_align>(
    {.schema = "roi_align(Tensor input, Tensor boxes, int[] output_size, float spatial_scale=1.0, int sampling_ratio=-1, bool "
               "aligned=False) -> Tensor",
        .doc = "Brings regions of images (N, C, H, W) to one size: bins of means of samples between pixels. boxes has rows (image, x1, y1, "
               "x2, y2) and gets no gradient. torchvision.ops.roi_align.",
        .kind = Kind::gather,
        .reads = {{1}},
        .torch = "torch_roi_align",
        .example = "pyburn.roi_align(pyburn.ones(1, 1, 4, 4), pyburn.tensor([[0., 0., 0., 3., 3.]]), 2)",
        .samples = R"(
t(2, 3, 5, 6), tensor([[0., 1., 0.5, 4., 3.5], [1., -1., -2., 7., 6.]]).constant, 2
t(1, 2, 5, 6), tensor([[0., 1., 0.5, 4., 3.5], [0., 2., 2., 2.25, 2.25]]).constant, (2, 3), 0.5, 2
t(1, 2, 5, 6), tensor([[0., 1., 0.5, 4., 3.5], [0., 3., 3., 1., 1.]]).constant, (3, 2), 1.0, -1, True
t(1, 2, 5, 6), tensor([[0., 1., 0.5, 4., 3.5]]).constant, (2, 2), 0.75, 3, aligned=True
t(1, 2, 5, 6, dtype=f64), tensor([[0., 1., 0.5, 4., 3.5]], dtype=f64).constant, 2
t(2, 6, 5, 3).permute(0, 3, 2, 1), tensor([[0., 1., 0.5, 4., 3.5]]).constant, 2
t(1, 1, 5, 6).expand(2, 3, 5, 6), tensor([[1., 1., 0.5, 4., 3.5]]).constant, 2
t(1, 2, 5, 6), t(0, 5).constant, 2
t(), tensor([[0., 0., 0., 1., 1.]]).constant, 2 ! axes
t(1, 2, 5, 6), t(2, 4).constant, 2 ! boxes
t(1, 2, 5, 6), tensor([[0., 0., 0., 1., 1.]]).constant, (0, 2) ! output_size
t(1, 2, 5, 6), tensor([[1., 0., 0., 1., 1.]]).constant, 2 ! image)"});
constinit OpInfo roi_align_input = define<RoiAlign, infer_align_input, grad_align_input>(
    {.schema = "roi_align_input(Tensor input, Tensor boxes, int[] input_size, float spatial_scale, int sampling_ratio, bool aligned) -> "
               "Tensor",
        .doc = "Computes the gradient of roi_align with respect to its input.",
        .kind = Kind::gather,
        .reads = {{1}},
        .torch = "torch_roi_align_input",
        .example = "pyburn.roi_align_input(pyburn.ones(1, 1, 1, 1), pyburn.tensor([[0., 0., 0., 1., 1.]]), (1, 1, 2, 2), 1.0, 1, False)",
        .samples = R"(
t(2, 3, 2, 2), tensor([[0., 1., 0.5, 4., 3.5], [1., -1., -2., 7., 6.]]).constant, (2, 3, 5, 6), 1.0, -1, False
t(1, 2, 2, 3), tensor([[0., 1., 0.5, 4., 3.5]]).constant, (1, 2, 5, 6), 0.5, 2, True
t(1, 2, 2, 3, dtype=f64), tensor([[0., 1., 0.5, 4., 3.5]], dtype=f64).constant, (1, 2, 5, 6), 1.0, 2, False
t(1, 3, 2, 2).permute(0, 2, 3, 1), tensor([[0., 1., 0.5, 4., 3.5]]).constant, (1, 2, 5, 6), 1.0, 2, False
t(1, 1, 2, 2).expand(1, 2, 2, 2), tensor([[0., 1., 0.5, 4., 3.5]]).constant, (1, 2, 5, 6), 1.0, 2, False
t(0, 2, 2, 2), t(0, 5).constant, (1, 2, 5, 6), 1.0, 2, False
t(), tensor([[0., 0., 0., 1., 1.]]).constant, (1, 2, 5, 6), 1.0, 2, False ! results
t(1, 2, 2, 2), tensor([[0., 0., 0., 1., 1.]]).constant, (1, 3, 5, 6), 1.0, 2, False ! channels
t(1, 2, 2, 2), tensor([[0., 0., 0., 1., 1.]]).constant, (5, 6), 1.0, 2, False ! input_size)"});
}  // namespace op

void register_regions(OpTable& table) { table.add({&op::nms, &op::roi_align, &op::roi_align_input}); }

}  // namespace pyburn
