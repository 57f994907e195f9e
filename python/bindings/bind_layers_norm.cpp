// Normalising layers as classes of pyburn.nn.
#include "layer_class.h"
#include "pyburn/nn/batch_norm.h"
#include "pyburn/nn/norm.h"

namespace nb = nanobind;

namespace pyburn::python {
namespace {

template <class L>
void bind_channel_norm(nb::module_& m, const char* doc) {
  bind_layer<L>(m, doc).def(
      "reset_running_stats", [](L& self) { self.reset_running_stats(); }, "Forgets the running statistics.");
}

}  // namespace

void bind_layers_norm(nb::module_& m) {
  bind_channel_norm<nn::BatchNorm1d>(m,
      "Each channel of (N, C) or (N, C, L) with mean 0 and variance 1 over the batch, then scaled and shifted.\n\n>>> "
      "pyburn.nn.BatchNorm1d(3)(pyburn.randn(4, 3)).shape");
  bind_channel_norm<nn::BatchNorm2d>(m,
      "Each channel of (N, C, H, W) with mean 0 and variance 1 over the batch, then scaled and shifted.\n\n>>> "
      "pyburn.nn.BatchNorm2d(3)(pyburn.randn(4, 3, 2, 2)).shape");
  bind_channel_norm<nn::BatchNorm3d>(m,
      "Each channel of (N, C, D, H, W) with mean 0 and variance 1 over the batch, then scaled and shifted.\n\n>>> "
      "pyburn.nn.BatchNorm3d(3)(pyburn.randn(4, 3, 2, 2, 2)).shape");
  bind_channel_norm<nn::SyncBatchNorm>(m,
      "BatchNorm for any number of axes, under the name it has where several processes share their statistics.\n\n>>> "
      "pyburn.nn.SyncBatchNorm(3)(pyburn.randn(4, 3, 2)).shape");
  bind_channel_norm<nn::InstanceNorm1d>(m,
      "Each channel of each example of (N, C, L) with mean 0 and variance 1.\n\n>>> pyburn.nn.InstanceNorm1d(3)(pyburn.randn(4, 3, "
      "5)).shape");
  bind_channel_norm<nn::InstanceNorm2d>(m,
      "Each channel of each example of (N, C, H, W) with mean 0 and variance 1.\n\n>>> pyburn.nn.InstanceNorm2d(3)(pyburn.randn(4, 3, 5, "
      "5)).shape");
  bind_channel_norm<nn::InstanceNorm3d>(m,
      "Each channel of each example of (N, C, D, H, W) with mean 0 and variance 1.\n\n>>> pyburn.nn.InstanceNorm3d(3)(pyburn.randn(4, 3, "
      "2, 5, 5)).shape");
  bind_layer<nn::LayerNorm>(m,
      "The last axes, which have the extents normalized_shape, with mean 0 and variance 1, then scaled and shifted.\n\n>>> "
      "pyburn.nn.LayerNorm(3)(pyburn.randn(4, 3)).shape");
  bind_layer<nn::RMSNorm>(
      m, "The last axes, divided by their root mean square, then scaled.\n\n>>> pyburn.nn.RMSNorm(3)(pyburn.randn(4, 3)).shape");
  bind_layer<nn::GroupNorm>(m,
      "Groups of channels of (N, C, ...) with mean 0 and variance 1, then scaled and shifted by channel.\n\n>>> pyburn.nn.GroupNorm(2, "
      "4)(pyburn.randn(1, 4, 5)).shape");
  bind_layer<nn::CrossMapLRN2d>(m,
      "Channels of images divided by the strength of their neighbours.\n\n>>> pyburn.nn.CrossMapLRN2d(3)(pyburn.ones(1, 4, 2, 2)).shape");
  bind_layer<nn::LocalResponseNorm>(
      m, "Channels divided by the strength of their neighbours.\n\n>>> pyburn.nn.LocalResponseNorm(2)(pyburn.ones(1, 4, 3)).shape");
}

}  // namespace pyburn::python
