"""DenseNet (Huang et al. 2016)."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from typing import Any

import pyburn
from pyburn import Tensor, nn
from pyburn.utils.checkpoint import checkpoint

from .building import variant

__all__ = ["DenseNet", "densenet121", "densenet161", "densenet169", "densenet201"]


class _DenseLayer(nn.Module):
    """Computes growth_rate new channels from all channels before it."""

    def __init__(self, channels: int, growth_rate: int, bn_size: int, drop_rate: float, memory_efficient: bool) -> None:
        super().__init__()
        self.norm1 = nn.BatchNorm2d(channels)
        self.relu1 = nn.ReLU(inplace=True)
        self.conv1 = nn.Conv2d(channels, bn_size * growth_rate, kernel_size=1, bias=False)
        self.norm2 = nn.BatchNorm2d(bn_size * growth_rate)
        self.relu2 = nn.ReLU(inplace=True)
        self.conv2 = nn.Conv2d(bn_size * growth_rate, growth_rate, kernel_size=3, padding=1, bias=False)
        self.drop_rate, self.memory_efficient = drop_rate, memory_efficient

    def _load_from_state_dict(self, state_dict: Any, prefix: str, *args: Any) -> None:
        """Renames norm.1, conv.1, norm.2 and conv.2 of the published checkpoints."""
        for name in [name for name in state_dict if name.startswith((prefix + "norm.", prefix + "conv."))]:
            kind, _, rest = name.removeprefix(prefix).partition(".")
            state_dict[prefix + kind + rest] = state_dict.pop(name)
        super()._load_from_state_dict(state_dict, prefix, *args)  # type: ignore[misc]

    def _bottleneck(self, *features: Tensor) -> Tensor:
        return self.conv1(self.relu1(self.norm1(pyburn.cat(features, 1))))

    def forward(self, features: Sequence[Tensor]) -> Tensor:
        if self.memory_efficient and any(x.requires_grad for x in features):
            x = checkpoint(self._bottleneck, *features, use_reentrant=False)
        else:
            x = self._bottleneck(*features)
        return nn.functional.dropout(self.conv2(self.relu2(self.norm2(x))), self.drop_rate, self.training)


class _DenseBlock(nn.ModuleDict):
    """Layers that each read the outputs of all layers before them."""

    def __init__(self, layers: int, channels: int, growth_rate: int, *options: Any) -> None:
        super().__init__({f"denselayer{i + 1}": _DenseLayer(channels + i * growth_rate, growth_rate, *options) for i in range(layers)})

    def forward(self, x: Tensor) -> Tensor:
        features = [x]
        for layer in self.values():
            features.append(layer(features))
        return pyburn.cat(features, 1)


def _transition(channels: int) -> nn.Sequential:
    """Halves the channels and the size."""
    norm, conv = nn.BatchNorm2d(channels), nn.Conv2d(channels, channels // 2, kernel_size=1, bias=False)
    return nn.Sequential(OrderedDict(norm=norm, relu=nn.ReLU(inplace=True), conv=conv, pool=nn.AvgPool2d(kernel_size=2, stride=2)))


class DenseNet(nn.Module):
    """DenseNet: dense blocks with transitions between them, average pooling and a linear layer.

    Args:
        growth_rate: The number of channels that each layer adds.
        block_config: The number of layers of each block.
        num_init_features: The number of channels of the first convolution.
        bn_size: The channels of a bottleneck as a multiple of growth_rate.
        drop_rate: The dropout rate of each layer.
        num_classes: The number of classes.
        memory_efficient: Whether to compute the bottlenecks again in the backward pass instead of keeping their inputs.

    >>> p_vision.models.DenseNet(8, (2, 2), 16, num_classes=10)(pyburn.rand(1, 3, 32, 32)).shape
    pyburn.Size([1, 10])
    """

    def __init__(
        self,
        growth_rate: int = 32,
        block_config: Sequence[int] = (6, 12, 24, 16),
        num_init_features: int = 64,
        bn_size: int = 4,
        drop_rate: float = 0,
        num_classes: int = 1000,
        memory_efficient: bool = False,
    ) -> None:
        super().__init__()
        channels = num_init_features
        layers: OrderedDict[str, nn.Module] = OrderedDict(
            conv0=nn.Conv2d(3, channels, kernel_size=7, stride=2, padding=3, bias=False),
            norm0=nn.BatchNorm2d(channels),
            relu0=nn.ReLU(inplace=True),
            pool0=nn.MaxPool2d(kernel_size=3, stride=2, padding=1),
        )
        for i, count in enumerate(block_config, 1):
            layers[f"denseblock{i}"] = _DenseBlock(count, channels, growth_rate, bn_size, drop_rate, memory_efficient)
            channels += count * growth_rate
            if i < len(block_config):
                layers[f"transition{i}"] = _transition(channels)
                channels //= 2
        layers["norm5"] = nn.BatchNorm2d(channels)
        self.features = nn.Sequential(layers)
        self.classifier = nn.Linear(channels, num_classes)
        for module in self.modules():
            if isinstance(module, nn.Conv2d):
                nn.init.kaiming_normal_(module.weight)
            elif isinstance(module, nn.Linear):
                nn.init.zeros_(module.bias)

    def forward(self, x: Tensor) -> Tensor:
        features = self.features(x).relu()
        return self.classifier(nn.functional.adaptive_avg_pool2d(features, (1, 1)).flatten(1))


densenet121 = variant("densenet121", "DenseNet-121", 8.0, DenseNet, 32, (6, 12, 24, 16), 64)
densenet161 = variant("densenet161", "DenseNet-161", 28.7, DenseNet, 48, (6, 12, 36, 24), 96)
densenet169 = variant("densenet169", "DenseNet-169", 14.1, DenseNet, 32, (6, 12, 32, 32), 64)
densenet201 = variant("densenet201", "DenseNet-201", 20.0, DenseNet, 32, (6, 12, 48, 32), 64)
