"""RegNet X and Y (Radosavovic et al. 2020). The Y models have squeeze-and-excitation."""

from __future__ import annotations

import math
from collections import Counter, OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

from pyburn import Tensor, nn

from .blocks import Conv2dNormActivation, SqueezeExcitation
from .building import NormLayer, Weights, build, rounded_channels, variant

__all__ = [
    "RegNet", "regnet_x_400mf", "regnet_x_800mf", "regnet_x_1_6gf", "regnet_x_3_2gf", "regnet_x_8gf", "regnet_x_16gf", "regnet_x_32gf",
    "regnet_y_400mf", "regnet_y_800mf", "regnet_y_1_6gf", "regnet_y_3_2gf", "regnet_y_8gf", "regnet_y_16gf", "regnet_y_32gf",
    "regnet_y_128gf",
]  # fmt: skip

Activation = Callable[..., nn.Module]


class ResBottleneckBlock(nn.Module):
    """Residual bottleneck block with a group convolution."""

    def __init__(
        self,
        width_in: int,
        width_out: int,
        stride: int,
        norm_layer: NormLayer,
        activation_layer: Activation,
        group_width: int = 1,
        bottleneck_multiplier: float = 1.0,
        se_ratio: float | None = None,
    ) -> None:
        super().__init__()
        conv = partial(Conv2dNormActivation, norm_layer=norm_layer, activation_layer=activation_layer)
        width = int(round(width_out * bottleneck_multiplier))
        self.proj = None
        if width_in != width_out or stride != 1:
            self.proj = conv(width_in, width_out, 1, stride, activation_layer=None)
        parts: OrderedDict[str, nn.Module] = OrderedDict(
            a=conv(width_in, width, 1), b=conv(width, width, 3, stride, groups=width // group_width)
        )
        if se_ratio:
            parts["se"] = SqueezeExcitation(width, int(round(se_ratio * width_in)), activation=activation_layer)
        parts["c"] = conv(width, width_out, 1, activation_layer=None)
        self.f = nn.Sequential(parts)
        self.activation = activation_layer(inplace=True)

    def forward(self, x: Tensor) -> Tensor:
        return self.activation((x if self.proj is None else self.proj(x)) + self.f(x))


@dataclass(frozen=True)
class BlockParams:
    """The stages of a RegNet: number of blocks, width and group width of each."""

    depths: list[int]
    widths: list[int]
    group_widths: list[int]
    bottleneck_multiplier: float = 1.0
    se_ratio: float | None = None

    @classmethod
    def from_init_params(
        cls,
        depth: int,
        w_0: int,
        w_a: float,
        w_m: float,
        group_width: int,
        bottleneck_multiplier: float = 1.0,
        se_ratio: float | None = None,
    ) -> BlockParams:
        """Computes the stages: block j is about w_0 + w_a * j wide, rounded to a power of w_m times w_0.

        Raises:
            ValueError: The parameters are out of range.
        """
        if w_a < 0 or w_0 <= 0 or w_m <= 1 or w_0 % 8 != 0:
            raise ValueError("Invalid RegNet settings")
        powers = (round(math.log((w_0 + w_a * j) / w_0) / math.log(w_m)) for j in range(depth))
        stages = Counter(round(w_0 * w_m**power / 8) * 8 for power in powers)  # in order of the width
        inner = [int(width * bottleneck_multiplier) for width in stages]
        groups = [min(group_width, width) for width in inner]
        widths = [int(rounded_channels(width, group) / bottleneck_multiplier) for width, group in zip(inner, groups, strict=True)]
        return cls(list(stages.values()), widths, groups, bottleneck_multiplier, se_ratio)


class RegNet(nn.Module):
    """RegNet: a stem, stages of residual bottleneck blocks that each halve the size, average pooling and a linear layer.

    Args:
        block_params: The stages.
        num_classes: The number of classes.
        stem_width: The channels of the stem.
        stem_type: The class of the stem; by default a convolution with norm and activation.
        block_type: The class of the blocks; by default ResBottleneckBlock.
        norm_layer: Creates a norm of a number of channels; by default BatchNorm2d.
        activation: The class of the activations; by default ReLU.

    >>> from p_vision.models.regnet import BlockParams
    >>> p_vision.models.RegNet(BlockParams([1, 1], [16, 32], [8, 8]), num_classes=10)(pyburn.rand(2, 3, 32, 32)).shape
    pyburn.Size([2, 10])
    """

    def __init__(
        self,
        block_params: BlockParams,
        num_classes: int = 1000,
        stem_width: int = 32,
        stem_type: Callable[..., nn.Module] | None = None,
        block_type: Callable[..., nn.Module] | None = None,
        norm_layer: NormLayer | None = None,
        activation: Activation | None = None,
    ) -> None:
        super().__init__()
        norm, activation = norm_layer or nn.BatchNorm2d, activation or nn.ReLU
        block, channels = block_type or ResBottleneckBlock, stem_width
        self.stem = (stem_type or partial(Conv2dNormActivation, kernel_size=3, stride=2))(
            3, stem_width, norm_layer=norm, activation_layer=activation
        )
        stages: OrderedDict[str, nn.Module] = OrderedDict()
        p = block_params
        for i, (depth, width, group_width) in enumerate(zip(p.depths, p.widths, p.group_widths, strict=True), 1):
            blocks: OrderedDict[str, nn.Module] = OrderedDict()
            for j in range(depth):
                first = (channels, width, 2) if j == 0 else (width, width, 1)
                blocks[f"block{i}-{j}"] = block(*first, norm, activation, group_width, p.bottleneck_multiplier, p.se_ratio)
            stages[f"block{i}"] = nn.Sequential(blocks)
            channels = width
        self.trunk_output = nn.Sequential(stages)
        self.avgpool = nn.AdaptiveAvgPool2d((1, 1))
        self.fc = nn.Linear(channels, num_classes)
        for module in self.modules():
            if isinstance(module, nn.Conv2d):
                fan_out = module.kernel_size[0] * module.kernel_size[1] * module.out_channels
                nn.init.normal_(module.weight, mean=0.0, std=math.sqrt(2.0 / fan_out))
        nn.init.normal_(self.fc.weight, mean=0.0, std=0.01)
        nn.init.zeros_(self.fc.bias)

    def forward(self, x: Tensor) -> Tensor:
        return self.fc(self.avgpool(self.trunk_output(self.stem(x))).flatten(1))


def _regnet(
    weights: Weights | None, depth: int, w_0: int, w_a: float, w_m: float, group_width: int, se_ratio: float | None = None, **options: Any
) -> RegNet:
    return build(RegNet, weights, BlockParams.from_init_params(depth, w_0, w_a, w_m, group_width, se_ratio=se_ratio), **options)


regnet_y_400mf = variant("regnet_y_400mf", "RegNetY-400MF", 4.3, _regnet, 16, 48, 27.89, 2.09, 8, se_ratio=0.25)
regnet_y_800mf = variant("regnet_y_800mf", "RegNetY-800MF", 6.4, _regnet, 14, 56, 38.84, 2.4, 16, se_ratio=0.25)
regnet_y_1_6gf = variant("regnet_y_1_6gf", "RegNetY-1.6GF", 11.2, _regnet, 27, 48, 20.71, 2.65, 24, se_ratio=0.25)
regnet_y_3_2gf = variant("regnet_y_3_2gf", "RegNetY-3.2GF", 19.4, _regnet, 21, 80, 42.63, 2.66, 24, se_ratio=0.25)
regnet_y_8gf = variant("regnet_y_8gf", "RegNetY-8GF", 39.4, _regnet, 17, 192, 76.82, 2.19, 56, se_ratio=0.25)
regnet_y_16gf = variant("regnet_y_16gf", "RegNetY-16GF", 83.6, _regnet, 18, 200, 106.23, 2.48, 112, se_ratio=0.25)
regnet_y_32gf = variant("regnet_y_32gf", "RegNetY-32GF", 145.0, _regnet, 20, 232, 115.89, 2.53, 232, se_ratio=0.25)
regnet_y_128gf = variant("regnet_y_128gf", "RegNetY-128GF", 644.8, _regnet, 27, 456, 160.83, 2.52, 264, se_ratio=0.25)
regnet_x_400mf = variant("regnet_x_400mf", "RegNetX-400MF", 5.5, _regnet, 22, 24, 24.48, 2.54, 16)
regnet_x_800mf = variant("regnet_x_800mf", "RegNetX-800MF", 7.3, _regnet, 16, 56, 35.73, 2.28, 16)
regnet_x_1_6gf = variant("regnet_x_1_6gf", "RegNetX-1.6GF", 9.2, _regnet, 18, 80, 34.01, 2.25, 24)
regnet_x_3_2gf = variant("regnet_x_3_2gf", "RegNetX-3.2GF", 15.3, _regnet, 25, 88, 26.31, 2.25, 48)
regnet_x_8gf = variant("regnet_x_8gf", "RegNetX-8GF", 39.6, _regnet, 23, 80, 49.56, 2.88, 120)
regnet_x_16gf = variant("regnet_x_16gf", "RegNetX-16GF", 54.3, _regnet, 22, 216, 55.59, 2.1, 128)
regnet_x_32gf = variant("regnet_x_32gf", "RegNetX-32GF", 107.8, _regnet, 23, 320, 69.86, 2.0, 168)
