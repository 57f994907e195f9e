// Images read between their elements: resizing along one axis, and weighted sums of elements at given places.
#include "pyburn/backends/wgpu/kernel_table.h"
#include "pyburn/ops/interpolate.h"
#include "pyburn/ops/sample_planes.h"
#include "pyburn/support/checked.h"
#include "pyburn/support/format.h"

namespace pyburn::wgpu {
namespace {

// A sparse matrix by rows: the columns and weights of row r are from bounds[r] to bounds[r + 1].
struct Sparse {
  std::vector<uint32_t> bounds{0}, columns;
  std::vector<float> weights;
};
Sparse matrix_of(const Resize& a) {
  const ResizeTaps taps = resize_taps(a);
  Sparse m;
  for (size_t o = 0; o < taps.first.size(); ++o) {
    for (int64_t k = 0; k < taps.count[o]; ++k) {
      m.columns.push_back(uint32_t(taps.first[o] + k));
      m.weights.push_back(float(taps.weights[o * size_t(taps.width) + size_t(k)]));
    }
    m.bounds.push_back(uint32_t(m.columns.size()));
  }
  return m;
}
Sparse transposed(const Sparse& m, int64_t rows) {
  Sparse t;
  t.bounds.assign(size_t(rows) + 1, 0);
  for (const uint32_t c : m.columns) ++t.bounds[c + 1];
  for (size_t r = 0; r < size_t(rows); ++r) t.bounds[r + 1] += t.bounds[r];
  std::vector<uint32_t> next(t.bounds.begin(), t.bounds.end() - 1);
  t.columns.resize(m.columns.size()), t.weights.resize(m.columns.size());
  for (uint32_t r = 0; r + 1 < m.bounds.size(); ++r)
    for (uint32_t i = m.bounds[r]; i < m.bounds[r + 1]; ++i) {
      const uint32_t to = next[m.columns[i]]++;
      t.columns[to] = r, t.weights[to] = m.weights[i];
    }
  return t;
}

template <class T>
TensorHandle uploaded(const Call& c, DType dtype, const std::vector<T>& values) {
  const TensorHandle t = scratch(c, dtype, Shape{int64_t(values.size())});
  c.gpu.upload(storage_of(t).buffer, values.data(), int64_t(values.size() * sizeof(T)));
  return t;
}

// y = x times the matrix, along one dimension.
void multiply_along(const Call& c, int64_t dim, const Sparse& m) {
  const TensorHandle &x = *c.in[0], &y = c.out[0];
  Checked inner = 1;
  for (int i = int(dim) + 1; i < x.rank(); ++i) inner = inner * x.shape()[i];
  const TensorHandle bounds = uploaded(c, DType::uint32, m.bounds), columns = uploaded(c, DType::uint32, m.columns),
                     weights = uploaded(c, DType::float32, m.weights);  // until the shader has run
  Shader s(c.gpu);
  s.input("x", x), s.output("y", y);
  s.input("bound", bounds), s.input("column", columns), s.input("weight", weights);
  s.number("inner", inner), s.number("given", x.shape()[dim]), s.number("made", y.shape()[dim]);
  s.run_each(y.numel(), R"(
  let row = i / p.inner % p.made;
  let plane = i / (p.inner * p.made) * p.given;
  var sum = 0.0;
  for (var k = bound_get(row); k < bound_get(row + 1u); k++) {
    sum = fma(weight_get(k), x_get((plane + column_get(k)) * p.inner + i % p.inner), sum);
  }
  y_set(i, sum);
)");
}
void resize(const Call& c) { multiply_along(c, c.attrs<Resize>().dim, matrix_of(c.attrs<Resize>())); }
void resize_input(const Call& c) {
  const Resize& a = c.attrs<Resize>();
  multiply_along(c, a.dim, transposed(matrix_of(a), a.input_size));
}

// Planes (N, C, size) and places (N, K, M).
void declare_places(Shader& s, const Call& c, const TensorHandle& places, const Shape& planes) {
  s.input("places", places);
  s.number("channels", planes[1]), s.number("size", planes[2]);
  s.number("taps", places.shape()[1]), s.number("results", places.shape()[2]);
  s.fault("outside", c.op.info->function(), format("index out of range: got {} for a plane of {}", "{}", planes[2]));
  s.declare(R"(
fn place(i: u32, ok: ptr<function, bool>) -> u32 {
  let given = places_get(i);
  *ok = given.y == 0u && given.x < p.size;
  if (!*ok && !i64_negative(given)) { report(p.outside, bitcast<i32>(given.x)); }
  return given.x;
}
)");
}

void sample(const Call& c) {
  Shader s(c.gpu);
  s.input("x", *c.in[0]), s.input("weight", *c.in[2]), s.output("y", c.out[0]);
  declare_places(s, c, *c.in[1], c.in[0]->shape());
  s.run_each(c.out[0].numel(), R"(
  let plane = i / p.results;
  let image = plane / p.channels;
  var sum = 0.0;
  for (var k = 0u; k < p.taps; k++) {
    let tap = (image * p.taps + k) * p.results + i % p.results;
    var ok = false;
    let element = place(tap, &ok);
    if (ok) { sum = fma(weight_get(tap), x_get(plane * p.size + element), sum); }
  }
  y_set(i, sum);
)");
}

void sample_input(const Call& c) {
  const TensorHandle& dx = c.out[0];
  const TensorHandle sums = dx.dtype() == DType::float32 ? dx : scratch(c, DType::float32, dx.shape());
  {
    Shader zero(c.gpu);
    zero.output("sums", sums);
    zero.run_each(sums.numel(), "sums_set(i, 0.0);");
  }
  Shader s(c.gpu);
  s.input("dy", *c.in[0]), s.input("weight", *c.in[2]), s.shared_output("sums", sums);
  declare_places(s, c, *c.in[1], dx.shape());
  s.run_each(Checked(c.in[0]->numel()) * c.in[1]->shape()[1], R"(
  let result = i % p.results;
  let plane = i / (p.results * p.taps);
  let tap = (plane / p.channels * p.taps + i / p.results % p.taps) * p.results + result;
  var ok = false;
  let to = place(tap, &ok);
  if (ok) { sums_add(sums_at(plane * p.size + to), weight_get(tap) * dy_get(plane * p.results + result)); }
)");
  if (!sums.is_same(dx)) copy(c.gpu, sums, dx);
}

void sample_weight(const Call& c) {
  Shader s(c.gpu);
  s.input("dy", *c.in[0]), s.input("x", *c.in[1]), s.output("dw", c.out[0]);
  declare_places(s, c, *c.in[2], c.in[1]->shape());
  s.run_each(c.out[0].numel(), R"(
  let image = i / (p.taps * p.results);
  var sum = 0.0;
  var ok = false;
  let element = place(i, &ok);
  if (ok) {
    for (var channel = 0u; channel < p.channels; channel++) {
      let plane = image * p.channels + channel;
      sum = fma(dy_get(plane * p.results + i % p.results), x_get(plane * p.size + element), sum);
    }
  }
  dw_set(i, sum);
)");
}

}  // namespace

void register_resampling(KernelTable& kernels) {
  kernels.add(op::resize_axis, resize, nullptr, kFloats);
  kernels.add(op::resize_axis_input, resize_input, nullptr, kFloats);
  kernels.add(op::sample_planes, sample, nullptr, kFloats);
  kernels.add(op::sample_planes_input, sample_input, nullptr, kFloats);
  kernels.add(op::sample_planes_weight, sample_weight, nullptr, kFloats);
}

}  // namespace pyburn::wgpu
