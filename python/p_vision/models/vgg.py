"""VGG, with and without batch norms (Simonyan and Zisserman 2014)."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

from pyburn import Tensor, nn

from .blocks import init_convolutions_
from .building import Weights, build, variant

__all__ = ["VGG", "vgg11", "vgg11_bn", "vgg13", "vgg13_bn", "vgg16", "vgg16_bn", "vgg19", "vgg19_bn"]


class VGG(nn.Module):
    """VGG: 3 x 3 convolutions, and three linear layers.

    Args:
        features: The convolutions, which have 512 output channels.
        num_classes: The number of classes.
        init_weights: Whether to initialize the weights as in the paper.
        dropout: The dropout rate between the linear layers.

    >>> from p_vision.models.vgg import make_layers
    >>> with pyburn.device("null"):  # computes shapes only
    ...     p_vision.models.VGG(make_layers([64, "M", 512, "M"]), num_classes=10)(pyburn.empty(1, 3, 32, 32)).shape
    pyburn.Size([1, 10])
    """

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


def _vgg(weights: Weights | None, depth: int, batch_norm: bool, **options: Any) -> VGG:
    cfg: list[int | str] = []
    for count, width in zip(_REPEATS[depth], (64, 128, 256, 512, 512), strict=True):
        cfg += [width] * count
        cfg.append("M")
    return build(VGG, weights, make_layers(cfg, batch_norm), **options)


vgg11 = variant("vgg11", "VGG-11", 132.9, _vgg, 11, False)
vgg11_bn = variant("vgg11_bn", "VGG-11 with batch norms", 132.9, _vgg, 11, True)
vgg13 = variant("vgg13", "VGG-13", 133.0, _vgg, 13, False)
vgg13_bn = variant("vgg13_bn", "VGG-13 with batch norms", 133.1, _vgg, 13, True)
vgg16 = variant("vgg16", "VGG-16", 138.4, _vgg, 16, False)
vgg16_bn = variant("vgg16_bn", "VGG-16 with batch norms", 138.4, _vgg, 16, True)
vgg19 = variant("vgg19", "VGG-19", 143.7, _vgg, 19, False)
vgg19_bn = variant("vgg19_bn", "VGG-19 with batch norms", 143.7, _vgg, 19, True)
