"""ConvNeXt (Liu et al. 2022)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

import pyburn
from pyburn import Tensor, nn

from .blocks import Conv2dNormActivation, Permute, StochasticDepth, init_truncated_
from .building import NormLayer, Weights, build, variant

__all__ = ["ConvNeXt", "convnext_base", "convnext_large", "convnext_small", "convnext_tiny"]


class LayerNorm2d(nn.LayerNorm):
    """LayerNorm over the channels of images."""

    def forward(self, x: Tensor) -> Tensor:
        return super().forward(x.permute(0, 2, 3, 1)).permute(0, 3, 1, 2)


class CNBlock(nn.Module):
    """Depthwise convolution and two linear layers over the channels, scaled, with a residual connection."""

    def __init__(self, dim: int, layer_scale: float, stochastic_depth_prob: float, norm_layer: NormLayer | None = None) -> None:
        super().__init__()
        self.block = nn.Sequential(
            nn.Conv2d(dim, dim, kernel_size=7, padding=3, groups=dim),
            Permute([0, 2, 3, 1]),
            (norm_layer or partial(nn.LayerNorm, eps=1e-6))(dim),
            nn.Linear(dim, 4 * dim),
            nn.GELU(),
            nn.Linear(4 * dim, dim),
            Permute([0, 3, 1, 2]),
        )
        self.layer_scale = nn.Parameter(pyburn.full((dim, 1, 1), layer_scale))
        self.stochastic_depth = StochasticDepth(stochastic_depth_prob, "row")

    def forward(self, x: Tensor) -> Tensor:
        return self.stochastic_depth(self.layer_scale * self.block(x)) + x


class CNBlockConfig(NamedTuple):
    """A stage of blocks; a convolution of stride 2 after it gives out_channels, unless that is None."""

    input_channels: int
    out_channels: int | None
    num_layers: int


class ConvNeXt(nn.Module):
    """ConvNeXt: a stem of 4 x 4 patches, stages of blocks, average pooling, a norm and a linear layer.

    Args:
        block_setting: The stages.
        stochastic_depth_prob: The drop rate of the last block; it grows linearly with depth.
        layer_scale: The initial scale of the output of a block.
        num_classes: The number of classes.
        block: The class of the blocks; by default CNBlock.
        norm_layer: Creates a norm of a number of channels; by default LayerNorm2d.

    Raises:
        ValueError: There are no stages.

    >>> from p_vision.models.convnext import CNBlockConfig
    >>> stages = [CNBlockConfig(16, 32, 1), CNBlockConfig(32, None, 1)]
    >>> p_vision.models.ConvNeXt(stages, num_classes=10)(pyburn.rand(1, 3, 32, 32)).shape
    pyburn.Size([1, 10])
    """

    def __init__(
        self,
        block_setting: Sequence[CNBlockConfig],
        stochastic_depth_prob: float = 0.0,
        layer_scale: float = 1e-6,
        num_classes: int = 1000,
        block: Callable[..., nn.Module] | None = None,
        norm_layer: NormLayer | None = None,
    ) -> None:
        super().__init__()
        if not block_setting:
            raise ValueError("The block_setting should not be empty")
        block, norm = block or CNBlock, norm_layer or partial(LayerNorm2d, eps=1e-6)
        stem = partial(Conv2dNormActivation, kernel_size=4, stride=4, padding=0, activation_layer=None, bias=True)
        layers: list[nn.Module] = [stem(3, block_setting[0].input_channels, norm_layer=norm)]
        total, built = sum(stage.num_layers for stage in block_setting), 0
        for channels, outputs, count in block_setting:
            rates = [stochastic_depth_prob * (built + i) / (total - 1.0) for i in range(count)]
            layers.append(nn.Sequential(*(block(channels, layer_scale, rate) for rate in rates)))
            built += count
            if outputs is not None:
                layers.append(nn.Sequential(norm(channels), nn.Conv2d(channels, outputs, kernel_size=2, stride=2)))
        self.features = nn.Sequential(*layers)
        self.avgpool = nn.AdaptiveAvgPool2d(1)
        last = block_setting[-1].out_channels or block_setting[-1].input_channels
        self.classifier = nn.Sequential(norm(last), nn.Flatten(1), nn.Linear(last, num_classes))
        init_truncated_(self)

    def forward(self, x: Tensor) -> Tensor:
        return self.classifier(self.avgpool(self.features(x)))


def _convnext(weights: Weights | None, width: int, depths: Sequence[int], *, stochastic_depth_prob: float, **options: Any) -> ConvNeXt:
    widths: list[int | None] = [width, 2 * width, 4 * width, 8 * width, None]
    stages = [CNBlockConfig(widths[i] or 0, widths[i + 1], depth) for i, depth in enumerate(depths)]
    return build(ConvNeXt, weights, stages, stochastic_depth_prob, **options)


convnext_tiny = variant("convnext_tiny", "ConvNeXt-T", 28.6, _convnext, 96, (3, 3, 9, 3), stochastic_depth_prob=0.1)
convnext_small = variant("convnext_small", "ConvNeXt-S", 50.2, _convnext, 96, (3, 3, 27, 3), stochastic_depth_prob=0.4)
convnext_base = variant("convnext_base", "ConvNeXt-B", 88.6, _convnext, 128, (3, 3, 27, 3), stochastic_depth_prob=0.5)
convnext_large = variant("convnext_large", "ConvNeXt-L", 197.8, _convnext, 192, (3, 3, 27, 3), stochastic_depth_prob=0.5)
