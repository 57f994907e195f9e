"""EfficientNet and EfficientNetV2 (Tan and Le 2019, 2021)."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from pyburn import Tensor, nn

from .blocks import Conv2dNormActivation, SqueezeExcitation, StochasticDepth, init_convolutions_
from .building import NormLayer, Weights, build, rounded_channels, variant

__all__ = [
    "EfficientNet", "efficientnet_b0", "efficientnet_b1", "efficientnet_b2", "efficientnet_b3", "efficientnet_b4", "efficientnet_b5",
    "efficientnet_b6", "efficientnet_b7", "efficientnet_v2_s", "efficientnet_v2_m", "efficientnet_v2_l",
]  # fmt: skip


@dataclass(frozen=True)
class MBConvConfig:
    """A stage of `num_layers` blocks; the first block has the stride and changes the number of channels."""

    expand_ratio: float
    kernel: int
    stride: int
    input_channels: int
    out_channels: int
    num_layers: int
    fused: bool = False

    def scaled(self, width: float, depth: float) -> MBConvConfig:
        """Scales the stage in width and depth."""
        return replace(
            self,
            input_channels=rounded_channels(self.input_channels * width),
            out_channels=rounded_channels(self.out_channels * width),
            num_layers=math.ceil(self.num_layers * depth),
        )


class ResidualBlock(nn.Module):
    """Base class of both block types: the layers are in `block`, with a residual connection if the shapes match."""

    def __init__(self, config: MBConvConfig, stochastic_depth_prob: float, layers: Sequence[nn.Module]) -> None:
        super().__init__()
        if not 1 <= config.stride <= 2:
            raise ValueError("illegal stride value")
        self.use_res_connect = config.stride == 1 and config.input_channels == config.out_channels
        self.block = nn.Sequential(*layers)
        self.stochastic_depth = StochasticDepth(stochastic_depth_prob, "row")
        self.out_channels = config.out_channels

    def forward(self, x: Tensor) -> Tensor:
        result = self.block(x)
        return self.stochastic_depth(result) + x if self.use_res_connect else result


class MBConv(ResidualBlock):
    """Inverted residual block: expansion, depthwise convolution, squeeze-and-excitation, projection."""

    def __init__(self, config: MBConvConfig, stochastic_depth_prob: float, norm_layer: NormLayer) -> None:
        conv = partial(Conv2dNormActivation, norm_layer=norm_layer)
        expanded = rounded_channels(config.input_channels * config.expand_ratio)
        layers: list[nn.Module] = []
        if expanded != config.input_channels:
            layers.append(conv(config.input_channels, expanded, 1, activation_layer=nn.SiLU))
        layers.append(conv(expanded, expanded, config.kernel, config.stride, groups=expanded, activation_layer=nn.SiLU))
        layers.append(SqueezeExcitation(expanded, max(1, config.input_channels // 4), activation=partial(nn.SiLU, inplace=True)))
        layers.append(conv(expanded, config.out_channels, 1, activation_layer=None))
        super().__init__(config, stochastic_depth_prob, layers)


class FusedMBConv(ResidualBlock):
    """MBConv with one full convolution instead of expansion and depthwise convolution, which is faster in early stages."""

    def __init__(self, config: MBConvConfig, stochastic_depth_prob: float, norm_layer: NormLayer) -> None:
        conv = partial(Conv2dNormActivation, norm_layer=norm_layer)
        expanded = rounded_channels(config.input_channels * config.expand_ratio)
        layers: list[nn.Module]
        if expanded != config.input_channels:
            layers = [
                conv(config.input_channels, expanded, config.kernel, config.stride, activation_layer=nn.SiLU),
                conv(expanded, config.out_channels, 1, activation_layer=None),
            ]
        else:
            layers = [conv(config.input_channels, config.out_channels, config.kernel, config.stride, activation_layer=nn.SiLU)]
        super().__init__(config, stochastic_depth_prob, layers)


class EfficientNet(nn.Module):
    """EfficientNet: a stem, stages with stochastic depth, a last convolution, average pooling and a linear layer.

    Args:
        inverted_residual_setting: The stages.
        dropout: The dropout rate in front of the linear layer.
        stochastic_depth_prob: The drop rate of the last block; it grows linearly with depth.
        num_classes: The number of classes.
        norm_layer: Creates a norm of a number of channels; by default BatchNorm2d.
        last_channel: The channels of the last convolution; by default four times those of the last stage.

    Raises:
        ValueError: There are no stages.

    >>> from p_vision.models.efficientnet import MBConvConfig
    >>> stages = [MBConvConfig(1, 3, 1, 16, 8, 1), MBConvConfig(6, 3, 2, 8, 16, 2)]
    >>> p_vision.models.EfficientNet(stages, dropout=0.2, num_classes=10)(pyburn.rand(2, 3, 32, 32)).shape
    pyburn.Size([2, 10])
    """

    def __init__(
        self,
        inverted_residual_setting: Sequence[MBConvConfig],
        dropout: float,
        stochastic_depth_prob: float = 0.2,
        num_classes: int = 1000,
        norm_layer: NormLayer | None = None,
        last_channel: int | None = None,
    ) -> None:
        super().__init__()
        if not inverted_residual_setting:
            raise ValueError("The inverted_residual_setting should not be empty")
        norm_layer = norm_layer or nn.BatchNorm2d
        conv = partial(Conv2dNormActivation, norm_layer=norm_layer, activation_layer=nn.SiLU)
        layers: list[nn.Module] = [conv(3, inverted_residual_setting[0].input_channels, 3, 2)]
        total = sum(config.num_layers for config in inverted_residual_setting)
        built = 0
        for config in inverted_residual_setting:
            make: Callable[..., nn.Module] = FusedMBConv if config.fused else MBConv
            further = replace(config, input_channels=config.out_channels, stride=1)
            stage = []
            for k in range(config.num_layers):
                stage.append(make(config if k == 0 else further, stochastic_depth_prob * built / total, norm_layer))
                built += 1
            layers.append(nn.Sequential(*stage))
        last = inverted_residual_setting[-1].out_channels
        outputs = last_channel if last_channel is not None else 4 * last
        layers.append(conv(last, outputs, 1))

        self.features = nn.Sequential(*layers)
        self.avgpool = nn.AdaptiveAvgPool2d(1)
        self.classifier = nn.Sequential(nn.Dropout(p=dropout, inplace=True), nn.Linear(outputs, num_classes))
        bound = 1.0 / math.sqrt(num_classes) if num_classes else 0.0
        init_convolutions_(self, partial(nn.init.uniform_, a=-bound, b=bound))

    def forward(self, x: Tensor) -> Tensor:
        return self.classifier(self.avgpool(self.features(x)).flatten(1))


_B0 = [
    MBConvConfig(1, 3, 1, 32, 16, 1),
    MBConvConfig(6, 3, 2, 16, 24, 2),
    MBConvConfig(6, 5, 2, 24, 40, 2),
    MBConvConfig(6, 3, 2, 40, 80, 3),
    MBConvConfig(6, 5, 1, 80, 112, 3),
    MBConvConfig(6, 5, 2, 112, 192, 4),
    MBConvConfig(6, 3, 1, 192, 320, 1),
]
_V2_S = [
    MBConvConfig(1, 3, 1, 24, 24, 2, fused=True),
    MBConvConfig(4, 3, 2, 24, 48, 4, fused=True),
    MBConvConfig(4, 3, 2, 48, 64, 4, fused=True),
    MBConvConfig(4, 3, 2, 64, 128, 6),
    MBConvConfig(6, 3, 1, 128, 160, 9),
    MBConvConfig(6, 3, 2, 160, 256, 15),
]
_V2_M = [
    MBConvConfig(1, 3, 1, 24, 24, 3, fused=True),
    MBConvConfig(4, 3, 2, 24, 48, 5, fused=True),
    MBConvConfig(4, 3, 2, 48, 80, 5, fused=True),
    MBConvConfig(4, 3, 2, 80, 160, 7),
    MBConvConfig(6, 3, 1, 160, 176, 14),
    MBConvConfig(6, 3, 2, 176, 304, 18),
    MBConvConfig(6, 3, 1, 304, 512, 5),
]
_V2_L = [
    MBConvConfig(1, 3, 1, 32, 32, 4, fused=True),
    MBConvConfig(4, 3, 2, 32, 64, 7, fused=True),
    MBConvConfig(4, 3, 2, 64, 96, 7, fused=True),
    MBConvConfig(4, 3, 2, 96, 192, 10),
    MBConvConfig(6, 3, 1, 192, 224, 19),
    MBConvConfig(6, 3, 2, 224, 384, 25),
    MBConvConfig(6, 3, 1, 384, 640, 7),
]
# The large models were trained with the batch norm settings of the TensorFlow implementation.
_TENSORFLOW_NORM = partial(nn.BatchNorm2d, eps=0.001, momentum=0.01)
_V2: dict[str, Any] = {"last_channel": 1280, "norm_layer": partial(nn.BatchNorm2d, eps=1e-3)}


def _scaled_b0(weights: Weights | None, width: float, depth: float, **options: Any) -> EfficientNet:
    return build(EfficientNet, weights, [stage.scaled(width, depth) for stage in _B0], **options)


efficientnet_b0 = variant("efficientnet_b0", "EfficientNet-B0", 5.3, _scaled_b0, 1.0, 1.0, dropout=0.2)
efficientnet_b1 = variant("efficientnet_b1", "EfficientNet-B1", 7.8, _scaled_b0, 1.0, 1.1, dropout=0.2)
efficientnet_b2 = variant("efficientnet_b2", "EfficientNet-B2", 9.1, _scaled_b0, 1.1, 1.2, dropout=0.3)
efficientnet_b3 = variant("efficientnet_b3", "EfficientNet-B3", 12.2, _scaled_b0, 1.2, 1.4, dropout=0.3)
efficientnet_b4 = variant("efficientnet_b4", "EfficientNet-B4", 19.3, _scaled_b0, 1.4, 1.8, dropout=0.4)
efficientnet_b5 = variant("efficientnet_b5", "EfficientNet-B5", 30.4, _scaled_b0, 1.6, 2.2, dropout=0.4, norm_layer=_TENSORFLOW_NORM)
efficientnet_b6 = variant("efficientnet_b6", "EfficientNet-B6", 43.0, _scaled_b0, 1.8, 2.6, dropout=0.5, norm_layer=_TENSORFLOW_NORM)
efficientnet_b7 = variant("efficientnet_b7", "EfficientNet-B7", 66.3, _scaled_b0, 2.0, 3.1, dropout=0.5, norm_layer=_TENSORFLOW_NORM)
efficientnet_v2_s = variant("efficientnet_v2_s", "EfficientNetV2-S", 21.5, EfficientNet, _V2_S, dropout=0.2, **_V2)
efficientnet_v2_m = variant("efficientnet_v2_m", "EfficientNetV2-M", 54.1, EfficientNet, _V2_M, dropout=0.3, **_V2)
efficientnet_v2_l = variant("efficientnet_v2_l", "EfficientNetV2-L", 118.5, EfficientNet, _V2_L, dropout=0.4, **_V2)
