// Random numbers: element i uses word i of the stream, whatever the thread.
#include "pyburn/ops/random.h"

#include <cmath>
#include <numbers>

#include "pyburn/backends/cpu/cpu_backend.h"
#include "pyburn/backends/cpu/tiles.h"
#include "pyburn/support/thread_pool.h"

namespace pyburn::cpu {
namespace {

double unit(uint32_t word) { return double(word >> 8) * 0x1p-24; }  // [0, 1), exact in float

void random(const Random& a, TensorHandle& out) {
  const bool narrow = out.dtype() == DType::float32 && out.layout().is_contiguous();
  TensorHandle y = narrow ? out : scratch(out, DType::float64);
  const int64_t n = y.numel();
  auto fill = [&](auto* p) {
    using T = std::remove_pointer_t<decltype(p)>;
    // A block of four words gives four numbers, or two normal ones.
    const int64_t per_block = a.draw == Draw::normal ? 2 : 4;
    parallel_for((n + per_block - 1) / per_block, 4096, [&](int64_t begin, int64_t end) {
      for (int64_t block = begin; block < end; ++block) {
        const auto words = philox(uint64_t(a.seed), uint64_t(a.offset) + uint64_t(block));
        double v[4];
        if (a.draw == Draw::normal) {  // Box-Muller
          for (int k = 0; k < 2; ++k) {
            const double u = (double(words[2 * k]) + 1) * 0x1p-32, angle = 2 * std::numbers::pi * (double(words[2 * k + 1]) * 0x1p-32);
            v[k] = a.a + a.b * (std::sqrt(-2 * std::log(u)) * std::cos(angle));
          }
        } else {
          for (int k = 0; k < 4; ++k) {
            const double u = unit(words[size_t(k)]);
            switch (a.draw) {
              case Draw::bernoulli:
                v[k] = u < a.a;
                break;
              case Draw::integer:
                v[k] = a.a + std::floor(double(words[size_t(k)]) * 0x1p-32 * (a.b - a.a));
                break;
              default:
                v[k] = a.a + u * (a.b - a.a);
            }
          }
        }
        for (int64_t k = 0, i = block * per_block; k < per_block && i < n; ++k, ++i) {
          T value = T(v[k]);
          if (a.draw == Draw::uniform && double(value) >= a.b && a.a < a.b)
            value = std::nextafter(T(a.b), T(a.a));  // rounding reached the open end
          p[i] = value;
        }
      }
    });
  };
  narrow ? fill(y.data<float>()) : fill(y.data<double>());
  if (!narrow) convert_into(y, out);
}

}  // namespace

void register_random(KernelTable& kernels) { kernels.add_for_all<random>(op::random); }

}  // namespace pyburn::cpu
