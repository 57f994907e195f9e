"""MobileNetV3 (Howard et al. 2019)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from pyburn import Tensor, nn

from .blocks import Conv2dNormActivation, SqueezeExcitation, init_convolutions_
from .building import NormLayer, Weights, build, rounded_channels, variant

__all__ = ["MobileNetV3", "mobilenet_v3_large", "mobilenet_v3_small"]


@dataclass(frozen=True)
class InvertedResidualConfig:
    """The configuration of a block."""

    input_channels: int
    kernel: int
    expanded_channels: int
    out_channels: int
    use_se: bool
    use_hs: bool  # hardswish, else ReLU
    stride: int
    dilation: int


class InvertedResidual(nn.Module):
    """Inverted residual block: expansion, depthwise convolution, projection; with a residual connection if the shapes match."""

    def __init__(self, config: InvertedResidualConfig, norm_layer: NormLayer) -> None:
        super().__init__()
        if not 1 <= config.stride <= 2:
            raise ValueError("illegal stride value")
        self.use_res_connect = config.stride == 1 and config.input_channels == config.out_channels
        activation: Callable[..., nn.Module] = nn.Hardswish if config.use_hs else nn.ReLU
        conv = partial(Conv2dNormActivation, norm_layer=norm_layer)
        expanded = config.expanded_channels
        layers: list[nn.Module] = []
        if expanded != config.input_channels:
            layers.append(conv(config.input_channels, expanded, 1, activation_layer=activation))
        stride = 1 if config.dilation > 1 else config.stride
        layers.append(
            conv(expanded, expanded, config.kernel, stride, groups=expanded, dilation=config.dilation, activation_layer=activation)
        )
        if config.use_se:
            layers.append(SqueezeExcitation(expanded, rounded_channels(expanded // 4), scale_activation=nn.Hardsigmoid))
        layers.append(conv(expanded, config.out_channels, 1, activation_layer=None))
        self.block = nn.Sequential(*layers)
        self.out_channels = config.out_channels

    def forward(self, x: Tensor) -> Tensor:
        result = self.block(x)
        return result + x if self.use_res_connect else result


class MobileNetV3(nn.Module):
    """MobileNetV3: a stem, inverted residual blocks, a last convolution, average pooling and two linear layers.

    Args:
        inverted_residual_setting: The blocks.
        last_channel: The size of the hidden linear layer.
        num_classes: The number of classes.
        block: The class of the blocks; by default InvertedResidual.
        norm_layer: Creates a norm of a number of channels; by default BatchNorm2d.
        dropout: The dropout rate in front of the last layer.

    Raises:
        ValueError: There are no blocks.

    >>> from p_vision.models.mobilenetv3 import InvertedResidualConfig
    >>> blocks = [InvertedResidualConfig(8, 3, 16, 8, True, True, 1, 1)]
    >>> p_vision.models.MobileNetV3(blocks, last_channel=32, num_classes=10)(pyburn.rand(2, 3, 32, 32)).shape
    pyburn.Size([2, 10])
    """

    def __init__(
        self,
        inverted_residual_setting: Sequence[InvertedResidualConfig],
        last_channel: int,
        num_classes: int = 1000,
        block: Callable[..., nn.Module] | None = None,
        norm_layer: NormLayer | None = None,
        dropout: float = 0.2,
    ) -> None:
        super().__init__()
        if not inverted_residual_setting:
            raise ValueError("The inverted_residual_setting should not be empty")
        block = block or InvertedResidual
        norm_layer = norm_layer or partial(nn.BatchNorm2d, eps=0.001, momentum=0.01)
        conv = partial(Conv2dNormActivation, norm_layer=norm_layer, activation_layer=nn.Hardswish)
        last = inverted_residual_setting[-1].out_channels
        self.features = nn.Sequential(
            conv(3, inverted_residual_setting[0].input_channels, 3, 2),
            *(block(config, norm_layer) for config in inverted_residual_setting),
            conv(last, 6 * last, 1),
        )
        self.avgpool = nn.AdaptiveAvgPool2d(1)
        self.classifier = nn.Sequential(
            nn.Linear(6 * last, last_channel),
            nn.Hardswish(inplace=True),
            nn.Dropout(p=dropout, inplace=True),
            nn.Linear(last_channel, num_classes),
        )
        init_convolutions_(self, partial(nn.init.normal_, mean=0, std=0.01))

    def forward(self, x: Tensor) -> Tensor:
        return self.classifier(self.avgpool(self.features(x)).flatten(1))


# Kernel size, expanded channels, output channels, squeeze-and-excitation, hardswish, stride. Input channels are the previous output.
_LARGE = [
    (3, 16, 16, False, False, 1),
    (3, 64, 24, False, False, 2),
    (3, 72, 24, False, False, 1),
    (5, 72, 40, True, False, 2),
    (5, 120, 40, True, False, 1),
    (5, 120, 40, True, False, 1),
    (3, 240, 80, False, True, 2),
    (3, 200, 80, False, True, 1),
    (3, 184, 80, False, True, 1),
    (3, 184, 80, False, True, 1),
    (3, 480, 112, True, True, 1),
    (3, 672, 112, True, True, 1),
    (5, 672, 160, True, True, 2),
    (5, 960, 160, True, True, 1),
    (5, 960, 160, True, True, 1),
]
_SMALL = [
    (3, 16, 16, True, False, 2),
    (3, 72, 24, False, False, 2),
    (3, 88, 24, False, False, 1),
    (5, 96, 40, True, True, 2),
    (5, 240, 40, True, True, 1),
    (5, 240, 40, True, True, 1),
    (5, 120, 48, True, True, 1),
    (5, 144, 48, True, True, 1),
    (5, 288, 96, True, True, 2),
    (5, 576, 96, True, True, 1),
    (5, 576, 96, True, True, 1),
]
_TAIL = 3  # the last blocks, which `reduced_tail` halves and `dilated` dilates


def _configs(
    table: list[tuple[int, int, int, bool, bool, int]], width_mult: float, reduced_tail: bool, dilated: bool
) -> list[InvertedResidualConfig]:
    def scaled(channels: int) -> int:
        return rounded_channels(channels * width_mult)

    configs: list[InvertedResidualConfig] = []
    channels = 16
    for k, (kernel, inside, out, squeeze, hardswish, stride) in enumerate(table):
        in_tail = k >= len(table) - _TAIL
        if reduced_tail and in_tail:
            out //= 2
            inside = inside if k == len(table) - _TAIL else inside // 2  # the first tail block has the full input
        dilation = 2 if dilated and in_tail else 1
        configs.append(InvertedResidualConfig(scaled(channels), kernel, scaled(inside), scaled(out), squeeze, hardswish, stride, dilation))
        channels = out
    return configs


def _mobilenet_v3(
    weights: Weights | None,
    table: list[tuple[int, int, int, bool, bool, int]],
    last_channel: int,
    width_mult: float = 1.0,
    reduced_tail: bool = False,
    dilated: bool = False,
    **options: Any,
) -> MobileNetV3:
    last = rounded_channels((last_channel // 2 if reduced_tail else last_channel) * width_mult)
    return build(MobileNetV3, weights, _configs(table, width_mult, reduced_tail, dilated), last, **options)


mobilenet_v3_large = variant("mobilenet_v3_large", "MobileNetV3-large", 5.5, _mobilenet_v3, _LARGE, 1280)
mobilenet_v3_small = variant("mobilenet_v3_small", "MobileNetV3-small", 2.5, _mobilenet_v3, _SMALL, 1024)
