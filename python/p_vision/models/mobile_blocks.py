"""Building blocks of MobileNetV3, EfficientNet and convolutional stems."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pyburn
from pyburn import Tensor, nn

from .building import NormLayer


class Conv2dNormActivation(nn.Sequential):
    """A same-padded convolution, followed by a norm and an activation."""

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: int = 3,
        stride: int = 1,
        groups: int = 1,
        norm_layer: NormLayer | None = nn.BatchNorm2d,
        activation_layer: Callable[..., nn.Module] | None = nn.ReLU,
        dilation: int = 1,
    ) -> None:
        padding = (kernel_size - 1) // 2 * dilation
        layers: list[nn.Module] = [
            nn.Conv2d(in_channels, out_channels, kernel_size, stride, padding, dilation, groups, bias=norm_layer is None)
        ]
        if norm_layer is not None:
            layers.append(norm_layer(out_channels))
        if activation_layer is not None:
            layers.append(activation_layer(inplace=True))
        super().__init__(*layers)
        self.out_channels = out_channels


class SqueezeExcitation(nn.Module):
    """Squeeze-and-excitation: scales the channels by a small network of their means (Hu et al. 2017)."""

    def __init__(
        self,
        input_channels: int,
        squeeze_channels: int,
        activation: Callable[..., nn.Module] = nn.ReLU,
        scale_activation: Callable[..., nn.Module] = nn.Sigmoid,
    ) -> None:
        super().__init__()
        self.avgpool = nn.AdaptiveAvgPool2d(1)
        self.fc1 = nn.Conv2d(input_channels, squeeze_channels, 1)
        self.fc2 = nn.Conv2d(squeeze_channels, input_channels, 1)
        self.activation = activation()
        self.scale_activation = scale_activation()

    def forward(self, x: Tensor) -> Tensor:
        scale = self.fc2(self.activation(self.fc1(self.avgpool(x))))
        return self.scale_activation(scale) * x


class StochasticDepth(nn.Module):
    """Stochastic depth: in training, zeroes the input per sample ("row") or per batch with probability p (Huang et al. 2016)."""

    def __init__(self, p: float, mode: str) -> None:
        super().__init__()
        if not 0.0 <= p <= 1.0:
            raise ValueError(f"drop probability has to be between 0 and 1, but got {p}")
        if mode not in ("batch", "row"):
            raise ValueError(f"mode has to be either 'batch' or 'row', but got {mode}")
        self.p, self.mode = p, mode

    def forward(self, x: Tensor) -> Tensor:
        if not self.training or self.p == 0.0:
            return x
        size = [x.shape[0] if self.mode == "row" else 1, *[1] * (x.ndim - 1)]
        return x * nn.functional.dropout(pyburn.ones(size, dtype=x.dtype, device=x.device), self.p)

    def extra_repr(self) -> str:
        return f"p={self.p}, mode={self.mode}"


def init_convolutions_(model: nn.Module, init_linear_: Callable[[Any], Any]) -> None:
    """Initializes mobile networks: He initialization for convolutions, ones and zeros for norms, init_linear_ for linear layers."""
    for module in model.modules():
        if isinstance(module, nn.Conv2d):
            nn.init.kaiming_normal_(module.weight, mode="fan_out")
            if module.bias is not None:
                nn.init.zeros_(module.bias)
        elif isinstance(module, (nn.BatchNorm2d, nn.GroupNorm)):
            nn.init.ones_(module.weight)
            nn.init.zeros_(module.bias)
        elif isinstance(module, nn.Linear):
            init_linear_(module.weight)
            nn.init.zeros_(module.bias)
