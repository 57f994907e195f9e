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
      "Applies batch normalisation to input (N, C) or (N, C, L).\n\n>>> pyburn.nn.BatchNorm1d(3)(pyburn.randn(4, "
      "3)).shape\npyburn.Size([4, 3])");
  bind_channel_norm<nn::BatchNorm2d>(m,
      "Applies batch normalisation to input (N, C, H, W).\n\n>>> pyburn.nn.BatchNorm2d(3)(pyburn.randn(4, 3, 2, 2)).shape\npyburn.Size([4, "
      "3, 2, 2])");
  bind_channel_norm<nn::BatchNorm3d>(m,
      "Applies batch normalisation to input (N, C, D, H, W).\n\n>>> pyburn.nn.BatchNorm3d(3)(pyburn.randn(4, 3, 2, 2, "
      "2)).shape\npyburn.Size([4, 3, 2, 2, 2])");
  bind_channel_norm<nn::SyncBatchNorm>(m,
      "Applies batch normalisation to input (N, C, ...) with any number of dimensions; statistics are those of this process.\n\n>>> "
      "pyburn.nn.SyncBatchNorm(3)(pyburn.randn(4, 3, 2)).shape\npyburn.Size([4, 3, 2])");
  bind_channel_norm<nn::InstanceNorm1d>(m,
      "Applies instance normalisation to input (N, C, L) or (C, L): normalises each channel of each sample.\n\n>>> "
      "pyburn.nn.InstanceNorm1d(3)(pyburn.randn(4, 3, 5)).shape\npyburn.Size([4, 3, 5])");
  bind_channel_norm<nn::InstanceNorm2d>(m,
      "Applies instance normalisation to input (N, C, H, W) or (C, H, W): normalises each channel of each sample.\n\n>>> "
      "pyburn.nn.InstanceNorm2d(3)(pyburn.randn(4, 3, 5, 5)).shape\npyburn.Size([4, 3, 5, 5])");
  bind_channel_norm<nn::InstanceNorm3d>(m,
      "Applies instance normalisation to input (N, C, D, H, W) or (C, D, H, W): normalises each channel of each sample.\n\n>>> "
      "pyburn.nn.InstanceNorm3d(3)(pyburn.randn(4, 3, 2, 5, 5)).shape\npyburn.Size([4, 3, 2, 5, 5])");
  bind_layer<nn::LayerNorm>(m,
      "Applies layer normalisation over the last dimensions, whose sizes are normalized_shape.\n\n>>> "
      "pyburn.nn.LayerNorm(3)(pyburn.randn(4, 3)).shape\npyburn.Size([4, 3])");
  bind_layer<nn::RMSNorm>(m,
      "Applies root-mean-square normalisation over the last dimensions, whose sizes are normalized_shape.\n\n>>> "
      "pyburn.nn.RMSNorm(3)(pyburn.randn(4, 3)).shape\npyburn.Size([4, 3])");
  bind_layer<nn::GroupNorm>(m,
      "Applies group normalisation to input (N, C, ...): normalises over groups of channels.\n\n>>> pyburn.nn.GroupNorm(2, "
      "4)(pyburn.randn(1, 4, 5)).shape\npyburn.Size([1, 4, 5])");
  bind_layer<nn::CrossMapLRN2d>(m,
      "Applies local response normalisation over neighbouring channels of images (N, C, H, W).\n\n>>> "
      "pyburn.nn.CrossMapLRN2d(3)(pyburn.ones(1, 4, 2, 2)).shape\npyburn.Size([1, 4, 2, 2])");
  bind_layer<nn::LocalResponseNorm>(m,
      "Applies local response normalisation over neighbouring channels of input (N, C, ...).\n\n>>> "
      "pyburn.nn.LocalResponseNorm(2)(pyburn.ones(1, 4, 3)).shape\npyburn.Size([1, 4, 3])");
}

}  // namespace pyburn::python
