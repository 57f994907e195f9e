"""torchvision.ops: boxes, losses on them, and the blocks that models are made of."""

from __future__ import annotations

import sys
from collections import OrderedDict
from collections.abc import Sequence
from typing import Any

import pyburn
from p_vision.models.blocks import MLP, Conv2dNormActivation, Permute, SqueezeExcitation, StochasticDepth
from pyburn import nn

from ... import _core
from ..._core import Tensor
from ...nn import functional as F
from ..absent import absent_names
from . import boxes as _boxes
from . import regions as _regions
from .boxes import *  # noqa: F403
from .boxes import box_area, reduced
from .regions import *  # noqa: F403
from .regions import roi_align

__all__ = [*_boxes.__all__, *_regions.__all__]
__all__ += ["MLP", "Conv2dNormActivation", "Conv3dNormActivation", "ExtraFPNBlock", "FeaturePyramidNetwork", "FrozenBatchNorm2d"]
__all__ += ["LastLevelMaxPool", "LastLevelP6P7", "MultiScaleRoIAlign", "Permute", "SqueezeExcitation", "StochasticDepth"]
__all__ += ["sigmoid_focal_loss", "stochastic_depth"]


def stochastic_depth(input: Tensor, p: float, mode: str, training: bool = True) -> Tensor:
    """While training, zeros in place of a sample ("row") or of the whole batch with probability p."""
    return StochasticDepth(p, mode).train(training)(input)


def sigmoid_focal_loss(inputs: Tensor, targets: Tensor, alpha: float = 0.25, gamma: float = 2, reduction: str = "none") -> Tensor:
    """Binary cross entropy of logits that counts what is right already less (Lin et al. 2017)."""
    probability = inputs.sigmoid()
    entropy = F.binary_cross_entropy_with_logits(inputs, targets, reduction="none")
    loss = entropy * (1 - (probability * targets + (1 - probability) * (1 - targets))) ** gamma
    if alpha >= 0:
        loss = (alpha * targets + (1 - alpha) * (1 - targets)) * loss
    return reduced(loss, reduction)


class FrozenBatchNorm2d(nn.Module):
    """BatchNorm2d whose statistics and weights are buffers, and stay."""

    def __init__(self, num_features: int, eps: float = 1e-5) -> None:
        super().__init__()
        self.eps = eps
        for name, value in (("weight", 1.0), ("bias", 0.0), ("running_mean", 0.0), ("running_var", 1.0)):
            self.register_buffer(name, _core.full((num_features,), value))

    def _load_from_state_dict(self, state_dict: Any, prefix: str, *args: Any) -> None:
        state_dict.pop(prefix + "num_batches_tracked", None)
        super()._load_from_state_dict(state_dict, prefix, *args)  # type: ignore[misc]

    def forward(self, x: Tensor) -> Tensor:
        scale = (self.weight * (self.running_var + self.eps).rsqrt()).reshape(1, -1, 1, 1)
        return x * scale + (self.bias.reshape(1, -1, 1, 1) - self.running_mean.reshape(1, -1, 1, 1) * scale)

    def extra_repr(self) -> str:
        return f"{self.weight.shape[0]}, eps={self.eps}"


class Conv3dNormActivation(Conv2dNormActivation):
    """The same for volumes."""

    dimensions, convolution, default_norm = 3, nn.Conv3d, nn.BatchNorm3d


ConvNormActivation = Conv2dNormActivation


class ExtraFPNBlock(nn.Module):
    """What adds levels on top of a pyramid: from the results, the features below and the names so far come new results and names."""

    def forward(self, results: list[Tensor], x: list[Tensor], names: list[str]) -> tuple[list[Tensor], list[str]]:
        raise NotImplementedError(f"[ExtraFPNBlock] {type(self).__name__} has no forward")


class LastLevelP6P7(ExtraFPNBlock):
    """Two levels more, by convolutions with a stride (RetinaNet)."""

    def __init__(self, in_channels: int, out_channels: int) -> None:
        super().__init__()
        self.p6 = nn.Conv2d(in_channels, out_channels, 3, 2, 1)
        self.p7 = nn.Conv2d(out_channels, out_channels, 3, 2, 1)
        for layer in (self.p6, self.p7):
            nn.init.kaiming_uniform_(layer.weight, a=1)
            nn.init.zeros_(layer.bias)
        self.use_P5 = in_channels == out_channels

    def forward(self, results: list[Tensor], x: list[Tensor], names: list[str]) -> tuple[list[Tensor], list[str]]:
        p6 = self.p6(results[-1] if self.use_P5 else x[-1])
        return [*results, p6, self.p7(F.relu(p6))], [*names, "p6", "p7"]


class LastLevelMaxPool(ExtraFPNBlock):
    """One level more on top of a pyramid: every second pixel of the last."""

    def forward(self, results: list[Tensor], x: list[Tensor], names: list[str]) -> tuple[list[Tensor], list[str]]:
        return [*results, F.max_pool2d(results[-1], 1, 2, 0)], [*names, "pool"]


class FeaturePyramidNetwork(nn.Module):
    """Features of several scales, each with what the coarser ones say (Lin et al. 2016)."""

    def __init__(self, in_channels_list: Sequence[int], out_channels: int, extra_blocks: Any = None, norm_layer: Any = None) -> None:
        super().__init__()
        options = {"norm_layer": norm_layer, "activation_layer": None}
        inner = [Conv2dNormActivation(n, out_channels, kernel_size=1, padding=0, **options) for n in in_channels_list]
        self.inner_blocks = nn.ModuleList(inner)
        self.layer_blocks = nn.ModuleList(
            [Conv2dNormActivation(out_channels, out_channels, kernel_size=3, **options) for _ in in_channels_list]
        )
        for layer in self.modules():
            if isinstance(layer, nn.Conv2d):
                nn.init.kaiming_uniform_(layer.weight, a=1)
                if layer.bias is not None:
                    nn.init.zeros_(layer.bias)
        self.extra_blocks = extra_blocks

    def forward(self, x: dict[str, Tensor]) -> OrderedDict[str, Tensor]:
        names, levels = list(x), list(x.values())
        last = self.inner_blocks[-1](levels[-1])
        results = [self.layer_blocks[-1](last)]
        for i in reversed(range(len(levels) - 1)):
            inner = self.inner_blocks[i](levels[i])
            last = inner + F.interpolate(last, size=inner.shape[-2:], mode="nearest")
            results.insert(0, self.layer_blocks[i](last))
        if self.extra_blocks is not None:
            results, names = self.extra_blocks(results, levels, names)
        return OrderedDict(zip(names, results, strict=True))


class MultiScaleRoIAlign(nn.Module):
    """roi_align on the level of a pyramid that fits the size of each box."""

    def __init__(
        self,
        featmap_names: list[str],
        output_size: Any,
        sampling_ratio: int,
        *,
        canonical_scale: int = 224,
        canonical_level: int = 4,
    ) -> None:
        super().__init__()
        self.featmap_names, self.sampling_ratio = featmap_names, sampling_ratio
        self.output_size = (output_size, output_size) if isinstance(output_size, int) else tuple(output_size)
        self.canonical_scale, self.canonical_level = canonical_scale, canonical_level

    def __repr__(self) -> str:
        options = f"featmap_names={self.featmap_names}, output_size={self.output_size}, sampling_ratio={self.sampling_ratio}"
        return f"{type(self).__name__}({options})"

    def forward(self, x: dict[str, Tensor], boxes: list[Tensor], image_shapes: list[tuple[int, int]]) -> Tensor:
        levels = [x[name] for name in self.featmap_names if name in x]
        widest = max(shape[0] for shape in image_shapes)
        scales = [2.0 ** round(float(pyburn.tensor(level.shape[-2] / widest).log2())) for level in levels]
        rows = _core.cat([_core.cat([_core.full((len(b), 1), i, dtype=b.dtype), b], 1) for i, b in enumerate(boxes)])
        if len(levels) == 1:
            return roi_align(levels[0], rows, self.output_size, scales[0], self.sampling_ratio)
        lowest, highest = (-int(pyburn.tensor(scale).log2()) for scale in (scales[0], scales[-1]))
        size = box_area(rows[:, 1:]).sqrt()
        which = (self.canonical_level + (size / self.canonical_scale).log2() + 1e-6).floor().clamp(lowest, highest).long() - lowest
        result = levels[0].new_zeros(len(rows), levels[0].shape[1], *self.output_size)
        for i, (level, scale) in enumerate(zip(levels, scales, strict=True)):
            chosen = (which == i).nonzero()[:, 0]
            if len(chosen):
                pooled = roi_align(level, rows[chosen], self.output_size, scale, self.sampling_ratio)
                result = result.index_put((chosen,), pooled.to(result.dtype))
        return result


_FILES = ("boxes", "feature_pyramid_network", "focal_loss", "misc", "poolers", "stochastic_depth")  # where torchvision has them
__getattr__ = absent_names("torchvision.ops", lambda name: sys.modules[__name__] if name in _FILES else None)
