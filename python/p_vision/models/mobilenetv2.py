"""MobileNetV2 (Sandler et al. 2018)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from pyburn import Tensor, nn

from .blocks import Conv2dNormActivation, init_convolutions_
from .building import NormLayer, rounded_channels, variant

__all__ = ["MobileNetV2", "mobilenet_v2"]


class InvertedResidual(nn.Module):
    """Inverted residual block: expansion, depthwise convolution, projection; with a residual connection if the shapes match."""

    def __init__(self, inp: int, oup: int, stride: int, expand_ratio: float, norm_layer: NormLayer | None = None) -> None:
        super().__init__()
        if stride not in (1, 2):
            raise ValueError(f"stride should be 1 or 2 instead of {stride}")
        norm = norm_layer or nn.BatchNorm2d
        conv = partial(Conv2dNormActivation, norm_layer=norm, activation_layer=nn.ReLU6)
        hidden = round(inp * expand_ratio)
        self.use_res_connect = stride == 1 and inp == oup
        self.conv = nn.Sequential(
            *([conv(inp, hidden, 1)] if expand_ratio != 1 else []),
            conv(hidden, hidden, stride=stride, groups=hidden),
            nn.Conv2d(hidden, oup, 1, bias=False),
            norm(oup),
        )
        self.out_channels = oup

    def forward(self, x: Tensor) -> Tensor:
        return x + self.conv(x) if self.use_res_connect else self.conv(x)


# Expansion, output channels, blocks, stride of the first block.
_STAGES = ((1, 16, 1, 1), (6, 24, 2, 2), (6, 32, 3, 2), (6, 64, 4, 2), (6, 96, 3, 1), (6, 160, 3, 2), (6, 320, 1, 1))


class MobileNetV2(nn.Module):
    """MobileNetV2: a stem, inverted residual blocks, a last convolution, average pooling and a linear layer.

    Args:
        num_classes: The number of classes.
        width_mult: Scales the numbers of channels.
        inverted_residual_setting: The stages: expansion, output channels, blocks, and the stride of the first block.
        round_nearest: Channels are rounded to a multiple of this number.
        block: The class of the blocks; by default InvertedResidual.
        norm_layer: Creates a norm of a number of channels; by default BatchNorm2d.
        dropout: The dropout rate in front of the linear layer.

    Raises:
        ValueError: There are no stages, or one does not have four numbers.

    >>> p_vision.models.MobileNetV2(num_classes=10, width_mult=0.25)(pyburn.rand(2, 3, 32, 32)).shape
    pyburn.Size([2, 10])
    """

    def __init__(
        self,
        num_classes: int = 1000,
        width_mult: float = 1.0,
        inverted_residual_setting: Sequence[Sequence[int]] | None = None,
        round_nearest: int = 8,
        block: Callable[..., nn.Module] | None = None,
        norm_layer: NormLayer | None = None,
        dropout: float = 0.2,
    ) -> None:
        super().__init__()
        stages = _STAGES if inverted_residual_setting is None else inverted_residual_setting
        if len(stages) == 0 or any(len(stage) != 4 for stage in stages):
            raise ValueError(f"inverted_residual_setting should be non-empty or a 4-element list, got {inverted_residual_setting}")
        block, norm = block or InvertedResidual, norm_layer or nn.BatchNorm2d
        conv = partial(Conv2dNormActivation, norm_layer=norm, activation_layer=nn.ReLU6)
        channels = rounded_channels(32 * width_mult, round_nearest)
        self.last_channel = rounded_channels(1280 * max(1.0, width_mult), round_nearest)
        layers: list[nn.Module] = [conv(3, channels, stride=2)]
        for expansion, width, count, stride in stages:
            outputs = rounded_channels(width * width_mult, round_nearest)
            for i in range(count):
                layers.append(block(channels, outputs, stride if i == 0 else 1, expand_ratio=expansion, norm_layer=norm))
                channels = outputs
        self.features = nn.Sequential(*layers, conv(channels, self.last_channel, 1))
        self.classifier = nn.Sequential(nn.Dropout(p=dropout), nn.Linear(self.last_channel, num_classes))
        init_convolutions_(self, partial(nn.init.normal_, mean=0, std=0.01))

    def forward(self, x: Tensor) -> Tensor:
        return self.classifier(nn.functional.adaptive_avg_pool2d(self.features(x), (1, 1)).flatten(1))


mobilenet_v2 = variant("mobilenet_v2", "MobileNetV2", 3.5, MobileNetV2)
