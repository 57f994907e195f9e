"""VGG, with and without batch norms (Simonyan and Zisserman 2014)."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

from pyburn import Tensor, nn

from .blocks import init_convolutions_
from .building import Weights, build

__all__ = ["VGG", "vgg11", "vgg11_bn", "vgg13", "vgg13_bn", "vgg16", "vgg16_bn", "vgg19", "vgg19_bn"]


class VGG(nn.Module):
    """VGG: 3 x 3 convolutions, and three linear layers."""

    def __init__(self, features: nn.Module, num_classes: int = 1000, init_weights: bool = True, dropout: float = 0.5) -> None:
        super().__init__()
        self.features = features
        self.avgpool = nn.AdaptiveAvgPool2d((7, 7))
        self.classifier = nn.Sequential(
            nn.Linear(512 * 7 * 7, 4096),
            nn.ReLU(inplace=True),
            nn.Dropout(p=dropout),
            nn.Linear(4096, 4096),
            nn.ReLU(inplace=True),
            nn.Dropout(p=dropout),
            nn.Linear(4096, num_classes),
        )
        if init_weights:
            init_convolutions_(self, partial(nn.init.normal_, mean=0, std=0.01))

    def forward(self, x: Tensor) -> Tensor:
        return self.classifier(self.avgpool(self.features(x)).flatten(1))


def make_layers(cfg: Sequence[int | str], batch_norm: bool = False) -> nn.Sequential:
    """Builds the convolutions: a number is that of output channels, "M" a pooling layer."""
    layers: list[nn.Module] = []
    channels = 3
    for outputs in cfg:
        if isinstance(outputs, str):
            layers.append(nn.MaxPool2d(kernel_size=2, stride=2))
            continue
        layers.append(nn.Conv2d(channels, outputs, kernel_size=3, padding=1))
        layers += [nn.BatchNorm2d(outputs)] if batch_norm else []
        layers.append(nn.ReLU(inplace=True))
        channels = outputs
    return nn.Sequential(*layers)


_REPEATS = {11: (1, 1, 2, 2, 2), 13: (2, 2, 2, 2, 2), 16: (2, 2, 3, 3, 3), 19: (2, 2, 4, 4, 4)}  # convolutions before each pooling


def _vgg(depth: int, batch_norm: bool, weights: Weights | None, **options: Any) -> VGG:
    cfg: list[int | str] = []
    for count, width in zip(_REPEATS[depth], (64, 128, 256, 512, 512), strict=True):
        cfg += [width] * count
        cfg.append("M")
    return build(VGG, weights, make_layers(cfg, batch_norm), **options)


def vgg11(*, weights: Weights | None = None, **options: Any) -> VGG:
    """VGG-11: 132.9 million parameters."""
    return _vgg(11, False, weights, **options)


def vgg11_bn(*, weights: Weights | None = None, **options: Any) -> VGG:
    """VGG-11 with batch norms: 132.9 million parameters."""
    return _vgg(11, True, weights, **options)


def vgg13(*, weights: Weights | None = None, **options: Any) -> VGG:
    """VGG-13: 133.0 million parameters."""
    return _vgg(13, False, weights, **options)


def vgg13_bn(*, weights: Weights | None = None, **options: Any) -> VGG:
    """VGG-13 with batch norms: 133.1 million parameters."""
    return _vgg(13, True, weights, **options)


def vgg16(*, weights: Weights | None = None, **options: Any) -> VGG:
    """VGG-16: 138.4 million parameters."""
    return _vgg(16, False, weights, **options)


def vgg16_bn(*, weights: Weights | None = None, **options: Any) -> VGG:
    """VGG-16 with batch norms: 138.4 million parameters."""
    return _vgg(16, True, weights, **options)


def vgg19(*, weights: Weights | None = None, **options: Any) -> VGG:
    """VGG-19: 143.7 million parameters."""
    return _vgg(19, False, weights, **options)


def vgg19_bn(*, weights: Weights | None = None, **options: Any) -> VGG:
    """VGG-19 with batch norms: 143.7 million parameters."""
    return _vgg(19, True, weights, **options)
