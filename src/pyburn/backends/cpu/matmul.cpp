// bmm, bmm_plus and linear.
#include "pyburn/backends/cpu/matmul.h"

#include <algorithm>

#include "pyburn/backends/cpu/cpu_backend.h"
#include "pyburn/backends/cpu/derived_cache.h"
#include "pyburn/backends/cpu/gemm/gemm_packed.h"
#include "pyburn/backends/cpu/gemm/widening.h"
#include "pyburn/backends/cpu/scratch_buffer.h"
#include "pyburn/backends/cpu/tiles.h"
#include "pyburn/ops/matmul.h"
#include "pyburn/ops/movement.h"
#include "pyburn/support/thread_pool.h"

namespace pyburn::cpu {
namespace {

// Integers: no vectors, but rows of C in parallel.
void gemm_plus(int64_t m, int64_t n, int64_t k, Matrix<const int64_t> a, Matrix<const int64_t> b, Matrix<const int64_t> start,
    Matrix<int64_t> c, Finish finish) {
  parallel_for(m, std::max<int64_t>(1, 65536 / std::max<int64_t>(1, n * k)), [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      int64_t* row = c.data + i * c.row;
      for (int64_t j = 0; j < n; ++j) row[j * c.column] = start.data ? start.data[i * start.row + j * start.column] : 0;
      for (int64_t p = 0; p < k; ++p) {
        const auto x = uint64_t(a.data[i * a.row + p * a.column]);  // wraps around: computed without sign
        const int64_t* other = b.data + p * b.row;
        for (int64_t j = 0; j < n; ++j) row[j * c.column] = int64_t(uint64_t(row[j * c.column]) + x * uint64_t(other[j * b.column]));
      }
    }
    if (finish) finish(begin, end - begin, 0, n);
  });
}

template <class T>
T blended(T beta, T start, T alpha, T product) {
  if constexpr (std::is_integral_v<T>) return T(uint64_t(beta) * uint64_t(start) + uint64_t(alpha) * uint64_t(product));
  else return beta * start + alpha * product;
}

// A batch of operands of one dtype. `start` is null where nothing is added.
struct Batch {
  const TensorHandle *start, *a, *b;
  TensorHandle* c;
  Blend blend;
  Finish finish;

  int64_t size() const { return a->shape()[0]; }
  int64_t m() const { return a->shape()[1]; }
  int64_t k() const { return a->shape()[2]; }
  int64_t n() const { return b->shape()[2]; }
};

template <class T>
Matrix<T> matrix(const TensorHandle& x, int64_t i) {
  const Dims& s = x.strides();
  return {x.data<std::remove_const_t<T>>() + i * s[0], s[1], s[2]};
}

// Calls multiply(i) for all products of the batch: in parallel or, for large products, sequentially.
template <class Multiply>
void for_each_product(const Batch& p, Multiply multiply) {
  constexpr int64_t kSmall = 1 << 20, kChunk = 1 << 18;  // multiply-adds: of a product too small to split, and of a chunk of such
  const int64_t work = p.m() * p.n() * p.k();
  auto all = [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) multiply(i);
  };
  if (work > kSmall && p.size() < 4 * num_threads()) all(0, p.size());  // each product uses all threads
  else parallel_for(p.size(), std::max<int64_t>(1, kChunk / std::max<int64_t>(1, work)), all);
}

template <class T>
void products(const Batch& p) {
  const bool sum = p.blend.is_sum();
  const T beta = p.blend.beta.to<T>(), alpha = p.blend.alpha.to<T>();
  const int64_t m = p.m(), n = p.n();
  for_each_product(p, [&](int64_t x) {
    const Matrix<T> c = matrix<T>(*p.c, x);
    const Matrix<const T> start = p.start ? matrix<const T>(*p.start, x) : Matrix<const T>{nullptr, c.row, c.column};
    auto finish = [&](int64_t i, int64_t rows, int64_t j, int64_t columns) {
      for (int64_t r = i; !sum && r < i + rows; ++r)
        for (int64_t q = j; q < j + columns; ++q) {
          T& to = c.data[r * c.row + q * c.column];
          to = blended(beta, start.data[r * start.row + q * start.column], alpha, to);
        }
      if (p.finish) p.finish(x * m + i, rows, j, columns);
    };
    gemm_plus(m, n, p.k(), matrix<const T>(*p.a, x), matrix<const T>(*p.b, x), sum ? start : Matrix<const T>{nullptr, c.row, c.column}, c,
        sum && !p.finish ? Finish() : Finish(finish));
  });
}

const char* address(const TensorHandle& x, int64_t batch, int64_t i, int64_t j) {
  const Dims& s = x.strides();
  return static_cast<const char*>(x.storage()->host) + (x.layout().offset + batch * s[0] + i * s[1] + j * s[2]) * size_of(x.dtype());
}

// A block of a float16 or bfloat16 matrix as floats, in memory order.
class WidenedBlock {
 public:
  WidenedBlock(int64_t rows, int64_t columns) : room_(rows * columns) {}
  Matrix<const float> widen(const TensorHandle& x, int64_t batch, int64_t i, int64_t rows, int64_t j, int64_t columns) {
    const Dims& s = x.strides();
    const bool by_rows = s[2] == 1 || s[1] != 1;
    const int64_t lines = by_rows ? rows : columns, length = by_rows ? columns : rows;
    const int64_t line = by_rows ? s[1] : s[2], step = by_rows ? s[2] : s[1], size = size_of(x.dtype());
    const char* from = address(x, batch, i, j);
    for (int64_t l = 0; l < lines; ++l)
      load_tile(x.dtype(), from + l * line * size, step, DType::float32, room_.data() + l * length, length);
    return {room_.data(), by_rows ? length : 1, by_rows ? 1 : length};
  }
  // Whole contiguous rows in any arrangement.
  Matrix<const float> widen_rows(const TensorHandle& x, int64_t batch, int64_t rows, int64_t columns) {
    for (int64_t r = 0; r < rows; ++r)
      load_tile(x.dtype(), address(x, batch, r, 0), x.strides()[2], DType::float32, room_.data() + r * columns, columns);
    return {room_.data(), columns, 1};
  }

 private:
  ScratchBuffer<float> room_;
};

// float16 and bfloat16: blocks of the operands are converted to float as they are used, and blocks of the result are rounded when complete.
// With few rows, the matrix is widened in registers. The division depends only on the sizes.
void half_products(const Batch& p) {
  constexpr int64_t kRows = 256, kDepth = 512, kLine = 512;
  const Dims& right = p.b->strides();
  const bool widening = p.m() <= kMostWideningRows && (right[1] == 1 || right[2] == 1);
  const int64_t m = p.m(), n = p.n(), k = p.k(), row_step = std::min(m, kRows), k_step = widening ? std::max<int64_t>(k, 1) : kDepth;
  const int64_t column_step = std::min<int64_t>(n, m * n >= 16 * kRows * kRows ? kRows : kRows / 2);
  if (m == 0 || n == 0) return;
  const int64_t down = (m + row_step - 1) / row_step, across = (n + column_step - 1) / column_step;
  const float beta = p.blend.beta.to<float>(), alpha = p.blend.alpha.to<float>();
  const DType dtype = p.c->dtype();
  const int64_t few = std::max<int64_t>(1, (1 << 18) / std::max<int64_t>(1, row_step * column_step * k));
  parallel_for(p.size() * down * across, few, [&](int64_t begin, int64_t end) {
    WidenedBlock a(row_step, std::min(k, k_step)), b(widening ? 0 : std::min(k, k_step), column_step);
    ScratchBuffer<float> sums(row_step * column_step);
    for (int64_t block = begin; block < end; ++block) {
      const int64_t x = block / (down * across), i = block / across % down * row_step, j = block % across * column_step;
      const int64_t rows = std::min(row_step, m - i), columns = std::min(column_step, n - j);
      for (int64_t k0 = 0; k0 < k; k0 += k_step) {
        const int64_t depth = std::min(k_step, k - k0);
        const Matrix<float> c{sums.data(), columns, 1};
        if (widening) {
          widening_product(rows, columns, k, a.widen_rows(*p.a, x, rows, k), dtype, {address(*p.b, x, 0, j), right[1], right[2]}, c);
        } else {
          gemm(rows, columns, depth, a.widen(*p.a, x, i, rows, k0, depth), b.widen(*p.b, x, k0, depth, j, columns), c, k0 > 0);
        }
      }
      if (k == 0) std::fill_n(sums.data(), rows * columns, 0.0f);
      for (int64_t r = 0; r < rows; ++r) {
        float* row = sums.data() + r * columns;
        if (p.start) {
          const Dims& s = p.start->strides();
          float line[kLine];
          load_tile(dtype, address(*p.start, x, i + r, j), s[2], DType::float32, line, columns);
          for (int64_t q = 0; q < columns; ++q) row[q] = blended(beta, line[q], alpha, row[q]);
        }
        const Dims& s = p.c->strides();
        store_tile(DType::float32, row, dtype, const_cast<char*>(address(*p.c, x, i + r, j)), s[2], columns);
      }
      if (p.finish) p.finish(x * m + i, rows, j, columns);
    }
  });
}

// Small integers: through int64.
void integer_products(const Batch& p) {
  const TensorHandle a = converted(*p.a, DType::int64), b = converted(*p.b, DType::int64);
  const TensorHandle start = p.start ? converted(*p.start, DType::int64) : TensorHandle();
  TensorHandle c = scratch(*p.c, DType::int64);
  products<int64_t>({p.start ? &start : nullptr, &a, &b, &c, p.blend, {}});
  convert_into(c, *p.c);
  if (p.finish) p.finish(0, p.size() * p.m(), 0, p.n());
}

void multiply(const Batch& p) {
  switch (p.c->dtype()) {
    case DType::float32:
      return products<float>(p);
    case DType::float64:
      return products<double>(p);
    case DType::int64:
      return products<int64_t>(p);
    case DType::float16:
    case DType::bfloat16:
      return half_products(p);
    default:
      return integer_products(p);
  }
}

void bmm(const NoAttrs&, const TensorHandle& a, const TensorHandle& b, TensorHandle& c) { multiply({nullptr, &a, &b, &c, {}, {}}); }
void bmm_plus(const Blend& blend, const TensorHandle& start, const TensorHandle& a, const TensorHandle& b, TensorHandle& c) {
  multiply({&start, &a, &b, &c, blend, {}});
}

constexpr int64_t kLinearKey = -2;  // of a weight packed as the right factor: see derived_cache.h

// The product of float rows with a weight that was packed beforehand. False: it was not.
bool multiply_packed(const TensorHandle& weight, const TensorHandle* start, const TensorHandle& a, TensorHandle& c, Finish finish) {
  if (c.dtype() != DType::float32 || a.strides()[2] != 1 || c.strides()[2] != 1 || (start && start->strides()[2] != 1)) return false;
  const int64_t n = weight.shape()[0], k = weight.shape()[1];
  const Ref<Derived> packed = kept_for(weight, Dims{kLinearKey}, Checked(packed_size(k, n)) * int64_t(sizeof(float)));
  if (!packed) return false;
  const Matrix<float> to = matrix<float>(c, 0);
  gemm_packed_plus(c.shape()[1], n, k, matrix<const float>(a, 0), {packed->data<float>(), k, n},
      start ? matrix<const float>(*start, 0) : Matrix<const float>{nullptr, to.row, 1}, to, finish);
  return true;
}

// linear as one product: all axes of the input but the last are rows, the weight is seen turned.
void multiply_linear(Inputs in, TensorHandle& y, Finish finish) {
  const TensorHandle &x = *in[0], &weight = *in[1], &bias = *in[2];
  const int64_t n = weight.shape()[0], k = weight.shape()[1], rows = x.numel() / k;
  const Shape left{1, rows, k};
  const TensorHandle a = alias(x, {left, view_strides(x.layout(), left).value(), x.layout().offset});
  const TensorHandle b = alias(weight, {Shape{1, k, n}, Dims{0, weight.strides()[1], weight.strides()[0]}, weight.layout().offset});
  const Shape result{1, rows, n};
  const std::optional<Dims> strides = view_strides(y.layout(), result);
  TensorHandle c = strides ? alias(y, {result, *strides, y.layout().offset}) : scratch(y.device(), result, y.dtype());
  TensorHandle start;
  if (bias.defined()) start = alias(bias, {Shape{1, rows, n}, Dims{0, 0, bias.strides()[0]}, bias.layout().offset});
  if (const TensorHandle* added = bias.defined() ? &start : nullptr; !multiply_packed(weight, added, a, c, finish))
    multiply({added, &a, &b, &c, {}, finish});
  if (!strides) convert_into(alias(c, contiguous_layout(y.shape())), y);  // out= of any layout
}
void linear(const NoAttrs&, Inputs in, Outputs out) { multiply_linear(in, out[0], {}); }

// The others become several operations: a weight of one axis, a bias that is a matrix, rows that need a copy.
bool is_one_product(const void*, Inputs in) {
  const TensorHandle &x = *in[0], &weight = *in[1], &bias = *in[2];
  if (weight.rank() != 2 || (bias.defined() && !(bias.shape() == Shape{weight.shape()[0]}))) return false;
  const int64_t k = weight.shape()[1];
  return k > 0 && view_strides(x.layout(), Shape{1, x.numel() / k, k}).has_value();
}

}  // namespace

void multiply_batches(OpRef op, Inputs in, TensorHandle& c, Finish finish) {
  if (op.info == &op::linear) multiply_linear(in, c, finish);
  else if (op.info == &op::bmm) multiply({nullptr, in[0], in[1], &c, {}, finish});
  else multiply({in[0], in[1], in[2], &c, op.as<Blend>(), finish});
}

void pack_linear_weight(const TensorHandle& weight) {
  if (weight.dtype() != DType::float32 || weight.rank() != 2 || weight.numel() == 0) return;
  const int64_t n = weight.shape()[0], k = weight.shape()[1];
  derived_from<float>(weight, Dims{kLinearKey}, packed_size(k, n), [&](float* to) {
    std::fill(to + k * (n / 16 * 16), to + packed_size(k, n), 0.0f);  // also what is never read: it goes into files
    pack_right(k, n, {weight.data<float>(), weight.strides()[1], weight.strides()[0]}, to);
  });
}

void register_matmul(KernelTable& kernels) {
  kernels.add_for_all<bmm>(op::bmm);
  kernels.add_for_all<bmm_plus>(op::bmm_plus);
  kernels.add_for_all<linear>(op::linear);
  kernels.only_if(op::linear, is_one_product);
}

}  // namespace pyburn::cpu
