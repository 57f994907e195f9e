// Regions of images brought to one size, and the gradient: a thread per result.
#include "pyburn/ops/regions.h"

#include "pyburn/backends/wgpu/kernel_table.h"
#include "pyburn/support/format.h"

namespace pyburn::wgpu {
namespace {

// Result i belongs to a bin of a region; `body` runs for each of the four pixels around each sample of the bin: at `pixel` of all images,
// with its `weight`. `samples` is their number. Images are (N, C, H, W), results (K, C, rows, columns).
void for_samples(Shader& s, const Call& c, const RoiAlign& a, const Shape& images, const TensorHandle& boxes, const Shape& results,
    const std::string& begin, const std::string& body, const std::string& end) {
  constexpr int64_t kMostSamples = 1 << 20;
  s.input("boxes", boxes);
  s.number("images", images[0]), s.number("channels", images[1]), s.number("height", images[2]), s.number("width", images[3]);
  s.number("rows", results[2]), s.number("columns", results[3]);
  s.number("scale", float(a.spatial_scale)), s.number("shift", a.aligned ? 0.5f : 0.0f);
  s.number("ratio", a.sampling_ratio > 0 ? std::min(a.sampling_ratio, kMostSamples + 1) : 0), s.number("most", kMostSamples);
  s.constant("least", a.aligned ? 0 : 1);
  const std::string_view op = c.op.info->function();
  s.fault("no_image", op, format("a box names an image that does not exist: got {} of {}", "{}", images[0]), true);
  s.fault("too_many", op, "too many samples of a bin: got {}", true);
  s.declare(R"(
fn samples_of(bin: f32) -> u32 {
  if (p.ratio > 0u) { return p.ratio; }
  return u32(clamp(ceil(bin), 0.0, f32(p.most + 1u)));
}
// The pixels below and above a coordinate, and the weight of the latter.
struct Between { low: u32, high: u32, share: f32 }
fn between(given: f32, extent: u32) -> Between {
  let x = max(given, 0.0);
  let low = u32(x);
  if (low < extent - 1u) { return Between(low, low + 1u, x - f32(low)); }
  return Between(extent - 1u, extent - 1u, 0.0);
}
)");
  s.run_each(results.numel(), R"(
  let column = i % p.columns;
  let row = i / p.columns % p.rows;
  let channel = i / (p.columns * p.rows) % p.channels;
  let box = i / (p.columns * p.rows * p.channels) * 5u;
  let image = boxes_get(box);
  if (!(image >= 0.0 && image < f32(p.images))) { report(p.no_image, i32(image)); return; }
  let x0 = boxes_get(box + 1u) * p.scale - p.shift;
  let y0 = boxes_get(box + 2u) * p.scale - p.shift;
  var w = boxes_get(box + 3u) * p.scale - p.shift - x0;
  var h = boxes_get(box + 4u) * p.scale - p.shift - y0;
  if (least == 1) { w = max(w, 1.0); h = max(h, 1.0); }
  let bin_h = h / f32(p.rows);
  let bin_w = w / f32(p.columns);
  let ny = samples_of(bin_h);
  let nx = samples_of(bin_w);
  if (ny > p.most || nx > p.most / max(ny, 1u)) { report(p.too_many, i32(max(nx, ny))); return; }
  let samples = f32(max(ny * nx, 1u));
  let plane = (u32(image) * p.channels + channel) * p.height * p.width;
)" + begin + R"(
  for (var m = 0u; m < ny; m++) {
    let y = y0 + f32(row) * bin_h + (f32(m) + 0.5) * bin_h / f32(ny);
    if (!(y >= -1.0 && y <= f32(p.height))) { continue; }
    let v = between(y, p.height);
    for (var n = 0u; n < nx; n++) {
      let x = x0 + f32(column) * bin_w + (f32(n) + 0.5) * bin_w / f32(nx);
      if (!(x >= -1.0 && x <= f32(p.width))) { continue; }
      let u = between(x, p.width);
      for (var corner = 0u; corner < 4u; corner++) {
        let pixel = plane + select(v.low, v.high, corner > 1u) * p.width + select(u.low, u.high, corner % 2u == 1u);
        let weight = select(1.0 - v.share, v.share, corner > 1u) * select(1.0 - u.share, u.share, corner % 2u == 1u);
)" + body + "\n} } }\n" + end);
}

void roi_align(const Call& c) {
  const TensorHandle &x = *c.in[0], &y = c.out[0];
  Shader s(c.gpu);
  s.input("x", x), s.output("y", y);
  const bool empty = x.shape()[2] == 0 || x.shape()[3] == 0;  // images without pixels
  for_samples(s, c, c.attrs<RoiAlign>(), x.shape(), *c.in[1], y.shape(), "var sum = 0.0;",
      empty ? "" : "sum = fma(weight, x_get(pixel), sum);", "y_set(i, sum / samples);");
}

void roi_align_input(const Call& c) {
  const RoiAlign& a = c.attrs<RoiAlign>();
  const TensorHandle &dy = *c.in[0], &dx = c.out[0];
  const TensorHandle sums = dx.dtype() == DType::float32 ? dx : scratch(c, DType::float32, dx.shape());
  {
    Shader zero(c.gpu);
    zero.output("sums", sums);
    zero.run_each(sums.numel(), "sums_set(i, 0.0);");
  }
  Shader s(c.gpu);
  s.input("dy", dy), s.shared_output("sums", sums);
  for_samples(
      s, c, a, Shape(a.size), *c.in[1], dy.shape(), "let share = dy_get(i) / samples;", "sums_add(sums_at(pixel), weight * share);", "");
  if (!sums.is_same(dx)) copy(c.gpu, sums, dx);
}

}  // namespace

void register_regions(KernelTable& kernels) {
  kernels.add(op::roi_align, roi_align, nullptr, kFloats);
  kernels.add(op::roi_align_input, roi_align_input, nullptr, kFloats);
}

}  // namespace pyburn::wgpu
