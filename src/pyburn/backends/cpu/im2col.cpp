#include "pyburn/backends/cpu/im2col.h"

#include <cstring>

#include "pyburn/backends/cpu/tiles.h"
#include "pyburn/support/thread_pool.h"

namespace pyburn::cpu {

template <class T>
void im2col(const ConvGeometry& g, const T* image, int64_t channels, int64_t row, int64_t row_end, T* columns) {
  const int64_t pixels = (row_end - row) * g.x.out, stride = g.x.stride;
  parallel_for(channels, std::max<int64_t>(1, kGrain / std::max<int64_t>(1, g.taps() * pixels)), [&](int64_t begin, int64_t end) {
    T* to = columns + begin * g.taps() * pixels;
    for (int64_t c = begin; c < end; ++c)
      for (int64_t i = 0; i < g.y.kernel; ++i)
        for (int64_t j = 0; j < g.x.kernel; ++j) {
          const auto [first, last] = g.x.inside(j);
          for (int64_t y = row; y < row_end; ++y, to += g.x.out) {
            const int64_t line = g.y.position(y, i);
            if (line < 0 || line >= g.y.in) {
              std::fill_n(to, g.x.out, T(0));
              continue;
            }
            const T* from = image + c * g.plane() + line * g.x.in + g.x.position(first, j);
            std::fill_n(to, first, T(0));
            if (stride == 1 && last > first) std::memcpy(to + first, from, size_t(last - first) * sizeof(T));
            else
              for (int64_t x = first; x < last; ++x) to[x] = from[(x - first) * stride];
            std::fill_n(to + last, g.x.out - last, T(0));
          }
        }
  });
}

template <class T>
void col2im(const ConvGeometry& g, const T* columns, int64_t channels, T* image) {
  const int64_t stride = g.x.stride;
  for (int64_t c = 0; c < channels; ++c, image += g.plane())
    for (int64_t i = 0; i < g.y.kernel; ++i)
      for (int64_t j = 0; j < g.x.kernel; ++j, columns += g.pixels()) {
        const auto [top, bottom] = g.y.inside(i);
        const auto [first, last] = g.x.inside(j);
        for (int64_t y = top; y < bottom; ++y) {
          const T* from = columns + y * g.x.out + first;
          T* to = image + g.y.position(y, i) * g.x.in + g.x.position(first, j);
          if (stride == 1)
            for (int64_t x = 0; x < last - first; ++x) to[x] += from[x];
          else
            for (int64_t x = 0; x < last - first; ++x) to[x * stride] += from[x];
        }
      }
}

template void im2col(const ConvGeometry&, const float*, int64_t, int64_t, int64_t, float*);
template void im2col(const ConvGeometry&, const double*, int64_t, int64_t, int64_t, double*);
template void col2im(const ConvGeometry&, const float*, int64_t, float*);
template void col2im(const ConvGeometry&, const double*, int64_t, double*);

}  // namespace pyburn::cpu
