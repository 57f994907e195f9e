#include "pyburn/backends/cpu/gemm/widening.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "pyburn/backends/cpu/gemm/widening.cpp"
#include <hwy/foreach_target.h>
// After foreach_target.
#include <hwy/highway.h>

#include <algorithm>

#include "pyburn/backends/cpu/partial_vector-inl.h"

HWY_BEFORE_NAMESPACE();
namespace pyburn::cpu::HWY_NAMESPACE {
namespace {
namespace hn = hwy::HWY_NAMESPACE;

template <class H>
struct Widening {
  hn::ScalableTag<float> d;
  hn::Rebind<H, hn::ScalableTag<float>> dh;
  static constexpr int64_t lanes = HWY_LANES(float);

  auto load(const H* from) const { return hn::PromoteTo(d, hn::LoadU(dh, from)); }
  auto load_first(const H* from, int64_t count) const {  // zero from there on
    HWY_ALIGN H room[HWY_LANES(float)] = {};
    std::copy_n(from, count, room);
    return load(room);
  }
};

// Dot products of `rows` rows of A with `columns` columns of B, all contiguous along k.
template <int rows, int columns, class H>
void dot_products(int64_t k, Matrix<const float> a, const H* b, int64_t b_column, Matrix<float> c) {
  const Widening<H> w;
  hn::Vec<hn::ScalableTag<float>> sum[rows][columns];
  for (int r = 0; r < rows; ++r)
    for (int j = 0; j < columns; ++j) sum[r][j] = hn::Zero(w.d);
  int64_t p = 0;
  for (; p + w.lanes <= k; p += w.lanes) {
    HWY_UNROLL(4)
    for (int j = 0; j < columns; ++j) {
      const auto right = w.load(b + j * b_column + p);
      HWY_UNROLL(4)
      for (int r = 0; r < rows; ++r) sum[r][j] = hn::MulAdd(hn::LoadU(w.d, a.data + r * a.row + p), right, sum[r][j]);
    }
  }
  for (int j = 0; p < k && j < columns; ++j) {
    const auto right = w.load_first(b + j * b_column + p, k - p);
    for (int r = 0; r < rows; ++r) sum[r][j] = hn::MulAdd(load_first(w.d, a.data + r * a.row + p, k - p), right, sum[r][j]);
  }
  for (int r = 0; r < rows; ++r)
    for (int j = 0; j < columns; ++j) c.data[r * c.row + j] = hn::GetLane(hn::SumOfLanes(w.d, sum[r][j]));
}

// C[r] += A[r][0, depth) times rows of B, which are contiguous: several of them per pass, so that C is loaded and stored less often.
template <int rows, int depth, class H>
void add_rows(int64_t n, Matrix<const float> a, const H* b, int64_t b_row, Matrix<float> c) {
  const Widening<H> w;
  const auto add = [&](int64_t j, auto load) HWY_ATTR {
    hn::Vec<hn::ScalableTag<float>> sum[rows];
    for (int r = 0; r < rows; ++r) sum[r] = load_first(w.d, c.data + r * c.row + j, n - j);
    HWY_UNROLL(8)
    for (int p = 0; p < depth; ++p) {
      const auto right = load(b + p * b_row + j);
      HWY_UNROLL(4)
      for (int r = 0; r < rows; ++r) sum[r] = hn::MulAdd(hn::Set(w.d, a.data[r * a.row + p]), right, sum[r]);
    }
    for (int r = 0; r < rows; ++r) store_first(sum[r], w.d, c.data + r * c.row + j, n - j);
  };
  int64_t j = 0;
  for (; j + w.lanes <= n; j += w.lanes) add(j, [&](const H* from) HWY_ATTR { return w.load(from); });
  if (j < n) add(j, [&](const H* from) HWY_ATTR { return w.load_first(from, n - j); });
}

template <int rows, class H>
void product_of(int64_t n, int64_t k, Matrix<const float> a, Matrix<const H> b, Matrix<float> c) {
  if (b.row == 1) {
    int64_t j = 0;
    for (; j + 4 <= n; j += 4) dot_products<rows, 4>(k, a, b.data + j * b.column, b.column, {c.data + j, c.row, 1});
    for (; j < n; ++j) dot_products<rows, 1>(k, a, b.data + j * b.column, b.column, {c.data + j, c.row, 1});
    return;
  }
  for (int r = 0; r < rows; ++r) std::fill_n(c.data + r * c.row, n, 0.0f);
  int64_t p = 0;
  for (; p + 8 <= k; p += 8) add_rows<rows, 8>(n, {a.data + p, a.row, 1}, b.data + p * b.row, b.row, c);
  for (; p < k; ++p) add_rows<rows, 1>(n, {a.data + p, a.row, 1}, b.data + p * b.row, b.row, c);
}

template <class H>
void product_for(int64_t m, int64_t n, int64_t k, Matrix<const float> a, Matrix<const void> b, Matrix<float> c) {
  const Matrix<const H> right{static_cast<const H*>(b.data), b.row, b.column};
  switch (m) {
    case 1:
      return product_of<1>(n, k, a, right, c);
    case 2:
      return product_of<2>(n, k, a, right, c);
    case 3:
      return product_of<3>(n, k, a, right, c);
    default:
      return product_of<4>(n, k, a, right, c);
  }
}
void product(int64_t m, int64_t n, int64_t k, Matrix<const float> a, DType dtype, Matrix<const void> b, Matrix<float> c) {
  dtype == DType::float16 ? product_for<hwy::float16_t>(m, n, k, a, b, c) : product_for<hwy::bfloat16_t>(m, n, k, a, b, c);
}

}  // namespace
}  // namespace pyburn::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace pyburn::cpu {

HWY_EXPORT(product);

void widening_product(int64_t m, int64_t n, int64_t k, Matrix<const float> a, DType dtype, Matrix<const void> b, Matrix<float> c) {
  HWY_DYNAMIC_DISPATCH(product)(m, n, k, a, dtype, b, c);
}

}  // namespace pyburn::cpu
#endif
