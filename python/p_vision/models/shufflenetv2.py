"""ShuffleNetV2 (Ma et al. 2018)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pyburn
from pyburn import Tensor, nn

from .building import Weights, build, variant

__all__ = ["ShuffleNetV2", "shufflenet_v2_x0_5", "shufflenet_v2_x1_0", "shufflenet_v2_x1_5", "shufflenet_v2_x2_0"]


def _pointwise(inputs: int, outputs: int) -> list[nn.Module]:
    return [nn.Conv2d(inputs, outputs, kernel_size=1, bias=False), nn.BatchNorm2d(outputs), nn.ReLU(inplace=True)]


def _depthwise(channels: int, stride: int) -> list[nn.Module]:
    convolution = nn.Conv2d(channels, channels, kernel_size=3, stride=stride, padding=1, groups=channels, bias=False)
    return [convolution, nn.BatchNorm2d(channels)]


class InvertedResidual(nn.Module):
    """Recomputes half of the channels, from the other half or (with a stride) from all, and shuffles the halves."""

    def __init__(self, inp: int, oup: int, stride: int) -> None:
        super().__init__()
        if not 1 <= stride <= 3:
            raise ValueError("illegal stride value")
        half = oup // 2
        if stride == 1 and inp != half * 2:
            raise ValueError(f"Invalid combination of stride {stride}, inp {inp} and oup {oup} values. With stride 1, inp must equal oup.")
        self.stride = stride
        self.branch1 = nn.Sequential(*(_depthwise(inp, stride) + _pointwise(inp, half) if stride > 1 else []))
        self.branch2 = nn.Sequential(*_pointwise(inp if stride > 1 else half, half), *_depthwise(half, stride), *_pointwise(half, half))

    def forward(self, x: Tensor) -> Tensor:
        kept, changed = x.chunk(2, dim=1) if self.stride == 1 else (self.branch1(x), x)
        return pyburn.channel_shuffle(pyburn.cat([kept, self.branch2(changed)], dim=1), 2)


class ShuffleNetV2(nn.Module):
    """ShuffleNetV2: a stem, three stages of blocks, a last convolution, average pooling and a linear layer.

    Args:
        stages_repeats: The number of blocks of each stage.
        stages_out_channels: The channels of the stem, the three stages and the last convolution.
        num_classes: The number of classes.
        inverted_residual: The class of the blocks.

    Raises:
        ValueError: The numbers of stages do not fit.

    >>> p_vision.models.ShuffleNetV2([1, 1, 1], [8, 16, 32, 64, 64], num_classes=10)(pyburn.rand(2, 3, 32, 32)).shape
    pyburn.Size([2, 10])
    """

    def __init__(
        self,
        stages_repeats: Sequence[int],
        stages_out_channels: Sequence[int],
        num_classes: int = 1000,
        inverted_residual: Callable[..., nn.Module] = InvertedResidual,
    ) -> None:
        super().__init__()
        if len(stages_repeats) != 3:
            raise ValueError("expected stages_repeats as list of 3 positive ints")
        if len(stages_out_channels) != 5:
            raise ValueError("expected stages_out_channels as list of 5 positive ints")
        stem, *widths, last = stages_out_channels
        stem_convolution = nn.Conv2d(3, stem, kernel_size=3, stride=2, padding=1, bias=False)
        self.conv1 = nn.Sequential(stem_convolution, nn.BatchNorm2d(stem), nn.ReLU(inplace=True))
        self.maxpool = nn.MaxPool2d(kernel_size=3, stride=2, padding=1)
        channels = stem
        for stage, (repeats, width) in enumerate(zip(stages_repeats, widths, strict=True), 2):
            blocks = [inverted_residual(channels, width, 2), *(inverted_residual(width, width, 1) for _ in range(repeats - 1))]
            setattr(self, f"stage{stage}", nn.Sequential(*blocks))
            channels = width
        self.conv5 = nn.Sequential(*_pointwise(channels, last))
        self.fc = nn.Linear(last, num_classes)

    def forward(self, x: Tensor) -> Tensor:
        x = self.maxpool(self.conv1(x))
        x = self.conv5(self.stage4(self.stage3(self.stage2(x))))
        return self.fc(x.mean([2, 3]))


def _shufflenet(weights: Weights | None, *widths: int, **options: Any) -> ShuffleNetV2:
    return build(ShuffleNetV2, weights, (4, 8, 4), (24, *widths), **options)


shufflenet_v2_x0_5 = variant("shufflenet_v2_x0_5", "ShuffleNetV2 with half the channels", 1.4, _shufflenet, 48, 96, 192, 1024)
shufflenet_v2_x1_0 = variant("shufflenet_v2_x1_0", "ShuffleNetV2", 2.3, _shufflenet, 116, 232, 464, 1024)
shufflenet_v2_x1_5 = variant("shufflenet_v2_x1_5", "ShuffleNetV2 with 1.5 times the channels", 3.5, _shufflenet, 176, 352, 704, 1024)
shufflenet_v2_x2_0 = variant("shufflenet_v2_x2_0", "ShuffleNetV2 with twice the channels", 7.4, _shufflenet, 244, 488, 976, 2048)
