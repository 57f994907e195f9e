// The matrix product against a plain triple loop: shapes around every tile edge, all orders of memory, any number of threads.
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <random>
#include <vector>

#include "cpu_test.h"
#include "pyburn/backends/cpu/gemm/gemm.h"

namespace pyburn::cpu {
namespace {

enum class Order { rows, columns, strided };

// Room for a matrix in some order of memory, with gaps between the rows.
template <class T>
struct Room {
  std::vector<T> values;
  int64_t row, column;
  Room(int64_t rows, int64_t columns, Order order) {
    const int64_t gap = 3;
    row = order == Order::columns ? 1 : order == Order::rows ? columns + gap : 2 * columns + gap;
    column = order == Order::columns ? rows + gap : order == Order::rows ? 1 : 2;
    values.resize(size_t((rows + gap) * row + (columns + gap) * column + 1));
  }
  void fill(std::mt19937& random) {
    for (T& v : values) v = T(std::uniform_real_distribution<double>(-1, 1)(random));
  }
  T& at(int64_t i, int64_t j) { return values[size_t(i * row + j * column)]; }
  Matrix<const T> input() const { return {values.data(), row, column}; }
  Matrix<T> output() { return {values.data(), row, column}; }
};

class Gemm : public CpuTest {
 protected:
  template <class T>
  void check(int64_t m, int64_t n, int64_t k, Order a_order = Order::rows, Order b_order = Order::rows, Order c_order = Order::rows,
      bool accumulate = false) {
    SCOPED_TRACE(testing::Message() << m << "x" << n << "x" << k << " orders " << int(a_order) << int(b_order) << int(c_order)
                                    << " accumulate " << accumulate);
    Room<T> a(m, k, a_order), b(k, n, b_order), start(m, n, c_order);
    for (Room<T>* room : {&a, &b, &start}) room->fill(random_);
    Room<T> first = start;
    for (int threads : {1, 2, 3}) {
      set_num_threads(threads);
      Room<T> c = start;
      gemm(m, n, k, a.input(), b.input(), c.output(), accumulate);
      if (threads == 1) first = c;
      else ASSERT_EQ(c.values, first.values) << threads << " threads give other bits";
      // Every element is finished once, when it is complete.
      Room<T> doubled = start;
      auto finish = [&](int64_t i, int64_t rows, int64_t j, int64_t columns) {
        for (int64_t y = i; y < i + rows; ++y)
          for (int64_t x = j; x < j + columns; ++x) doubled.at(y, x) *= 2;
      };
      const Matrix<T> to = doubled.output();
      gemm_plus(m, n, k, a.input(), b.input(), {accumulate ? to.data : nullptr, to.row, to.column}, to, Finish(finish));
      for (int64_t i = 0; i < m; ++i)
        for (int64_t j = 0; j < n; ++j) ASSERT_EQ(doubled.at(i, j), 2 * first.at(i, j)) << "finished at " << i << ", " << j;
    }
    Room<T> expected = start;  // what lies between the rows must stay as it was
    for (int64_t i = 0; i < m; ++i)
      for (int64_t j = 0; j < n; ++j) {
        long double sum = accumulate ? start.at(i, j) : 0;
        for (int64_t p = 0; p < k; ++p) sum += static_cast<long double>(a.at(i, p)) * b.at(p, j);
        const double tolerance = (sizeof(T) == 4 ? 1e-6 : 1e-15) * (2 + std::sqrt(double(k)) * 2);
        ASSERT_NEAR(double(first.at(i, j)), double(sum), tolerance) << "at " << i << ", " << j;
        expected.at(i, j) = first.at(i, j);
      }
    ASSERT_EQ(first.values, expected.values) << "wrote outside of C";
  }

 private:
  std::mt19937 random_{7};
};

constexpr Order kOrders[] = {Order::rows, Order::columns, Order::strided};

TEST_F(Gemm, SmallShapesInAllOrders) {
  const int64_t sizes[][3] = {{0, 3, 4}, {3, 0, 4}, {3, 4, 0}, {1, 1, 1}, {1, 7, 5}, {7, 1, 5}, {5, 7, 1}, {2, 3, 19}, {4, 33, 17},
      {6, 16, 8}, {7, 65, 9}, {13, 31, 40}, {33, 67, 21}, {40, 5, 130}};
  for (auto [m, n, k] : sizes)
    for (Order a : kOrders)
      for (Order b : kOrders)
        for (Order c : kOrders)
          for (bool accumulate : {false, true}) {
            check<float>(m, n, k, a, b, c, accumulate);
            check<double>(m, n, k, a, b, c, accumulate);
          }
}

TEST_F(Gemm, EveryRemainderOfTheTile) {
  for (int64_t m = 1; m <= 8; ++m)
    for (int64_t n = 1; n <= 130; n += n < 20 ? 1 : 13) {
      check<float>(m, n, 11);
      check<float>(m + 32, n, 11);
    }
}

TEST_F(Gemm, LargerThanOneBlock) {
  for (Order a : kOrders)
    for (Order b : kOrders) check<float>(70, 300, 1100, a, b);
  check<float>(130, 1030, 515);
  check<float>(300, 70, 40, Order::columns, Order::columns, Order::columns, true);
  check<double>(65, 130, 700, Order::columns, Order::rows);
}

TEST_F(Gemm, FewRowsAndVectors) {
  for (int64_t m : {1, 2, 3, 4, 5, 16, 32})
    for (Order b : kOrders) {
      check<float>(m, 1500, 400, Order::rows, b);
      check<float>(1500, m, 400, b, Order::columns);
      check<double>(m, 300, 333, Order::columns, b);
    }
}

// Starts: a matrix of its own, one row for all (a bias), one column for all; any order of C.
TEST_F(Gemm, AddsWhatItStartsFrom) {
  std::mt19937 random(3);
  for (auto [m, n, k] :
      {std::array<int64_t, 3>{1, 7, 5}, {7, 1, 5}, {9, 70, 30}, {20, 100, 600}, {150, 130, 700}, {3, 4, 0}, {5, 300, 200}})
    for (Order b_order : kOrders)
      for (Order c_order : kOrders) {
        Room<float> a(m, k, Order::rows), b(k, n, b_order), start(m, n, Order::rows);
        for (Room<float>* room : {&a, &b, &start}) room->fill(random);
        for (const Matrix<const float> from :
            {start.input(), Matrix<const float>{start.values.data(), 0, 1}, {start.values.data(), 1, 0}}) {
          Room<float> c(m, n, c_order), first = c;
          for (int threads : {1, 2, 3}) {
            set_num_threads(threads);
            gemm_plus(m, n, k, a.input(), b.input(), from, c.output());
            if (threads == 1) first = c;
            else ASSERT_EQ(c.values, first.values) << threads << " threads give other bits";
          }
          for (int64_t i = 0; i < m; ++i)
            for (int64_t j = 0; j < n; ++j) {
              double sum = from.data[i * from.row + j * from.column];
              for (int64_t p = 0; p < k; ++p) sum += double(a.at(i, p)) * b.at(p, j);
              ASSERT_NEAR(c.at(i, j), sum, 1e-6 * (2 + std::sqrt(double(k)) * 2)) << m << "x" << n << "x" << k << " at " << i << ", " << j;
            }
        }
      }
}

TEST_F(Gemm, PartsOfAPackedFactor) {
  std::mt19937 random(5);
  for (auto [m, n, k] : {std::array<int64_t, 3>{1, 5, 3}, {13, 100, 40}, {64, 300, 70}, {40, 130, 1200}})
    for (Order order : {Order::rows, Order::columns}) {
      Room<float> a(m, k, Order::rows), b(k, n, order);
      a.fill(random), b.fill(random);
      std::vector<float> packed(size_t(packed_size(k, n)));
      pack_right(k, n, b.input(), packed.data());
      for (const int64_t k0 : {int64_t(0), k / 3})
        for (int64_t j0 = 0; j0 < n; j0 += kPackedUnit)
          for (const int64_t columns : {n - j0, (n - j0 + 1) / 2})
            for (bool accumulate : {false, true}) {
              Room<float> c(m, columns, Order::rows), first = c;
              for (int threads : {1, 3}) {
                set_num_threads(threads);
                std::fill(c.values.begin(), c.values.end(), 2.0f);
                gemm_packed(m, columns, k - k0, Matrix<const float>{a.values.data() + k0, a.row, 1},
                    Packed<float>{packed.data(), k, n, k0, j0}, c.output(), accumulate);
                if (threads == 1) first = c;
                else ASSERT_EQ(c.values, first.values);
              }
              for (int64_t i = 0; i < m; ++i)
                for (int64_t j = 0; j < columns; ++j) {
                  double sum = accumulate ? 2 : 0;
                  for (int64_t p = k0; p < k; ++p) sum += double(a.at(i, p)) * b.at(p, j0 + j);
                  ASSERT_NEAR(c.at(i, j), sum, 1e-6 * (2 + std::sqrt(double(k)) * 2))
                      << "at " << i << ", " << j << " from " << k0 << ", " << j0;
                }
            }
    }
}

TEST_F(Gemm, BatchesOfAnySizeMatchSingleProducts) {
  for (auto [batch, m, n, k] : {std::array<int64_t, 4>{7, 5, 9, 3}, {300, 8, 8, 8}, {3, 110, 120, 100}, {0, 2, 2, 2}, {2, 3, 4, 0}}) {
    const Tensor a = random(Shape{batch, m, k}), b = transpose(random(Shape{batch, n, k}), 1, 2);
    for (int threads : {1, 2, 3}) {
      set_num_threads(threads);
      const Tensor c = bmm(a, b);
      for (int64_t i = 0; i < batch; ++i) {
        const auto one = values<float>(matmul(select(a, 0, i), select(b, 0, i))), many = values<float>(select(c, 0, i));
        ASSERT_EQ(one, many);
      }
    }
  }
}

}  // namespace
}  // namespace pyburn::cpu
