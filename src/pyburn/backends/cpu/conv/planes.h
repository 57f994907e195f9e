// Convolution vectorised over columns, for groups with few channels. Each source plane is copied with its padding and split by stride, so
// that every product reads whole vectors at fixed distances. Nothing is transposed, and weights are not packed.
#pragma once
#include <vector>

#include "pyburn/backends/cpu/conv/finish.h"
#include "pyburn/backends/cpu/conv/plan.h"

namespace pyburn::cpu {

// Is this method faster for the plan?
bool suits_planes(const ConvPlan& plan);

// Planes at arbitrary addresses: one pointer per image and source channel, null for all-zero planes. Results of consecutive images and
// channels are `image` and `channel` elements apart.
template <class T>
struct Planes {
  std::vector<const T*> source;
  T* result;
  int64_t image, channel;
};
template <class T>
Planes<T> plain_planes(const ConvPlan& plan, const T* source, T* result) {
  const int64_t channels = plan.groups * plan.sources, plane = plan.y.result * plan.x.result;
  Planes<T> planes{std::vector<const T*>(size_t(plan.images * channels)), result, plan.groups * plan.results * plane, plane};
  for (const T*& p : planes.source) p = source, source += plan.y.source * plan.x.source;
  return planes;
}

// `weight` is a contiguous tensor; bias may be null.
template <class T>
void convolve_planes(const ConvPlan& plan, const Planes<T>& planes, const T* weight, const T* bias, ImageFinish finish = {});

// Computes the weight gradient in the same way; one group only. Tensors are contiguous.
bool suits_planes_weight(const ConvGeometry& g);
template <class T>
void convolve_planes_weight(const ConvGeometry& g, const T* x, const T* dy, T* dw);

}  // namespace pyburn::cpu
