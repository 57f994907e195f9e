"""SqueezeNet (Iandola et al. 2016)."""

from __future__ import annotations

import pyburn
from pyburn import Tensor, nn

from .building import variant

__all__ = ["SqueezeNet", "squeezenet1_0", "squeezenet1_1"]


class Fire(nn.Module):
    """Reduces the channels by a 1 x 1 convolution, then expands them by 1 x 1 and 3 x 3 convolutions side by side."""

    def __init__(self, inplanes: int, squeeze_planes: int, expand1x1_planes: int, expand3x3_planes: int) -> None:
        super().__init__()
        self.squeeze = nn.Conv2d(inplanes, squeeze_planes, kernel_size=1)
        self.squeeze_activation = nn.ReLU(inplace=True)
        self.expand1x1 = nn.Conv2d(squeeze_planes, expand1x1_planes, kernel_size=1)
        self.expand1x1_activation = nn.ReLU(inplace=True)
        self.expand3x3 = nn.Conv2d(squeeze_planes, expand3x3_planes, kernel_size=3, padding=1)
        self.expand3x3_activation = nn.ReLU(inplace=True)

    def forward(self, x: Tensor) -> Tensor:
        x = self.squeeze_activation(self.squeeze(x))
        return pyburn.cat([self.expand1x1_activation(self.expand1x1(x)), self.expand3x3_activation(self.expand3x3(x))], 1)


_STEMS = {"1_0": (96, 7), "1_1": (64, 3)}  # channels and kernel size of the first convolution
# The squeezed channels of each Fire module, which gives eight times as many; 0 is a pooling layer.
_STAGES = {"1_0": (16, 16, 32, 0, 32, 48, 48, 64, 0, 64), "1_1": (16, 16, 0, 32, 32, 0, 48, 48, 64, 64)}


class SqueezeNet(nn.Module):
    """SqueezeNet: Fire modules, and a convolution as the classifier. Version 1_1 needs 2.4 times fewer operations than 1_0.

    Args:
        version: "1_0" or "1_1".
        num_classes: The number of classes.
        dropout: The dropout rate in front of the classifier.

    Raises:
        ValueError: The version is unknown.

    >>> p_vision.models.SqueezeNet("1_1", num_classes=10)(pyburn.rand(1, 3, 64, 64)).shape
    pyburn.Size([1, 10])
    """

    def __init__(self, version: str = "1_0", num_classes: int = 1000, dropout: float = 0.5) -> None:
        super().__init__()
        if version not in _STEMS:
            raise ValueError(f"[SqueezeNet] version must be '1_0' or '1_1': got {version!r}")
        channels, kernel_size = _STEMS[version]
        layers: list[nn.Module] = [nn.Conv2d(3, channels, kernel_size=kernel_size, stride=2), nn.ReLU(inplace=True)]
        for squeezed in (0, *_STAGES[version]):
            if squeezed == 0:
                layers.append(nn.MaxPool2d(kernel_size=3, stride=2, ceil_mode=True))
            else:
                layers.append(Fire(channels, squeezed, 4 * squeezed, 4 * squeezed))
                channels = 8 * squeezed
        self.features = nn.Sequential(*layers)
        final = nn.Conv2d(channels, num_classes, kernel_size=1)
        self.classifier = nn.Sequential(nn.Dropout(p=dropout), final, nn.ReLU(inplace=True), nn.AdaptiveAvgPool2d((1, 1)))
        for module in self.modules():
            if isinstance(module, nn.Conv2d):
                nn.init.kaiming_uniform_(module.weight)
                nn.init.zeros_(module.bias)
        nn.init.normal_(final.weight, mean=0.0, std=0.01)

    def forward(self, x: Tensor) -> Tensor:
        return self.classifier(self.features(x)).flatten(1)


squeezenet1_0 = variant("squeezenet1_0", "SqueezeNet 1.0", 1.2, SqueezeNet, "1_0")
squeezenet1_1 = variant("squeezenet1_1", "SqueezeNet 1.1", 1.2, SqueezeNet, "1_1")
