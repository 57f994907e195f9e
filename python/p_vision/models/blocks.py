"""Building blocks that several families share."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pyburn
from pyburn import Tensor, nn

from .building import NormLayer


class Conv2dNormActivation(nn.Sequential):
    """A same-padded convolution, followed by a norm and an activation."""

    convolution: Any = nn.Conv2d
    default_norm: Any = nn.BatchNorm2d
    dimensions = 2

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Any = 3,
        stride: Any = 1,
        padding: Any = None,
        groups: int = 1,
        norm_layer: NormLayer | None = ...,  # type: ignore[assignment]  # None means no norm
        activation_layer: Callable[..., nn.Module] | None = nn.ReLU,
        dilation: Any = 1,
        inplace: bool | None = True,
        bias: bool | None = None,
    ) -> None:
        norm = self.default_norm if norm_layer is ... else norm_layer
        if padding is None:
            kernels, dilations = (v if isinstance(v, Sequence) else (v,) * self.dimensions for v in (kernel_size, dilation))
            padding = tuple((k - 1) // 2 * d for k, d in zip(kernels, dilations, strict=True))
        bias = norm is None if bias is None else bias
        layers: list[nn.Module] = [self.convolution(in_channels, out_channels, kernel_size, stride, padding, dilation, groups, bias)]
        if norm is not None:
            layers.append(norm(out_channels))
        if activation_layer is not None:
            layers.append(activation_layer(**({} if inplace is None else {"inplace": inplace})))
        super().__init__(*layers)
        self.out_channels = out_channels


class MLP(nn.Sequential):
    """Linear layers with dropout, and a norm and an activation between them."""

    def __init__(
        self,
        in_channels: int,
        hidden_channels: Sequence[int],
        norm_layer: NormLayer | None = None,
        activation_layer: Callable[..., nn.Module] | None = nn.ReLU,
        inplace: bool | None = None,
        bias: bool = True,
        dropout: float = 0.0,
    ) -> None:
        options = {} if inplace is None else {"inplace": inplace}
        layers: list[nn.Module] = []
        for i, channels in enumerate(hidden_channels):
            layers.append(nn.Linear(in_channels, channels, bias=bias))
            if i + 1 < len(hidden_channels):
                layers += [norm_layer(channels)] if norm_layer is not None else []
                layers += [activation_layer(**options)] if activation_layer is not None else []
            layers.append(nn.Dropout(dropout, **options))
            in_channels = channels
        super().__init__(*layers)


class Permute(nn.Module):
    """Permutes the dimensions.

    Args:
        dims: The dimensions in their new order.

    >>> Permute([0, 2, 1])(pyburn.ones(1, 2, 3)).shape
    pyburn.Size([1, 3, 2])
    """

    def __init__(self, dims: list[int]) -> None:
        super().__init__()
        self.dims = dims

    def forward(self, x: Tensor) -> Tensor:
        return x.permute(*self.dims)


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


def init_convolutions_(model: nn.Module, init_linear_: Callable[[Any], Any] | None = None) -> None:
    """He initialization for convolutions, ones and zeros for norms, init_linear_ and zero biases for linear layers."""
    for module in model.modules():
        if isinstance(module, nn.Conv2d):
            nn.init.kaiming_normal_(module.weight, mode="fan_out")
            if module.bias is not None:
                nn.init.zeros_(module.bias)
        elif isinstance(module, (nn.BatchNorm2d, nn.GroupNorm)):
            nn.init.ones_(module.weight)
            nn.init.zeros_(module.bias)
        elif isinstance(module, nn.Linear) and init_linear_ is not None:
            init_linear_(module.weight)
            nn.init.zeros_(module.bias)


def init_truncated_(model: nn.Module) -> None:
    """Initializes convolutions and linear layers: normal with standard deviation 0.02, truncated at ±2; biases are 0."""
    for module in model.modules():
        if isinstance(module, (nn.Conv2d, nn.Linear)):
            nn.init.trunc_normal_(module.weight, std=0.02)
            if module.bias is not None:
                nn.init.zeros_(module.bias)
