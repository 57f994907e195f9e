// Convolution with columns in vectors, for groups of few channels: each plane of the source is copied with its
// padding, split by strides, so that every product reads whole vectors at fixed distances. Nothing is transposed and no weight is packed.
#pragma once
#include <vector>

#include "pyburn/backends/cpu/conv/finish.h"
#include "pyburn/backends/cpu/conv/plan.h"

namespace pyburn::cpu {

// Does it pay for this plan?
bool suits_planes(const ConvPlan& plan);

// Planes that lie anywhere: one pointer per image and channel of the source, null where there are only zeros; the results of an image and
// of a channel are `image` and `channel` elements apart.
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

// `weight` is a plain tensor; bias may be null.
template <class T>
void convolve_planes(const ConvPlan& plan, const Planes<T>& planes, const T* weight, const T* bias, ImageFinish finish = {});

// The gradient of the weights in the same way; for one group. Tensors are plain.
bool suits_planes_weight(const ConvGeometry& g);
template <class T>
void convolve_planes_weight(const ConvGeometry& g, const T* x, const T* dy, T* dw);

}  // namespace pyburn::cpu
