"""Constructors and methods of PyTorch's private base classes of layers, for custom ones: `class MyLoss(_Loss)`, `class MyNorm(_BatchNorm)`.

Layers implemented in C++ override them.
"""

from __future__ import annotations

import math
from typing import Any

from .. import _core
from .._core import Tensor
from .._core._nn import Module, _BatchNorm, _ConvNd, _DropoutNd, _InstanceNorm, _Loss, _NormBase, _WeightedLoss
from ..nn import Parameter, init
from ..nn import functional as F
from .layer_methods import ConvolutionMethods, normalised

_Bound: Any = object


class LossMethods(_Bound):
    """Stores `reduction`."""

    def __init__(self, size_average: bool | None = None, reduce: bool | None = None, reduction: str = "mean") -> None:
        super(_Loss, self).__init__()
        if size_average is not None or reduce is not None:
            reduction = "none" if reduce is False else "sum" if size_average is False else "mean"
        self.reduction = reduction


class WeightedLossMethods(_Bound):
    """Stores `reduction`, and `weight` as a buffer."""

    def __init__(
        self, weight: Tensor | None = None, size_average: bool | None = None, reduce: bool | None = None, reduction: str = "mean"
    ) -> None:
        super(_WeightedLoss, self).__init__(size_average, reduce, reduction)
        self.register_buffer("weight", weight)


class NormMethods(_Bound):
    """Weights, running statistics and the batch normalization, for inputs of any number of dimensions."""

    _version = 2

    def __init__(
        self,
        num_features: int,
        eps: float = 1e-5,
        momentum: float | None = 0.1,
        affine: bool = True,
        track_running_stats: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super(_NormBase, self).__init__()
        self.num_features, self.eps, self.momentum = num_features, eps, momentum
        self.affine, self.track_running_stats = affine, track_running_stats
        options = {"device": device, "dtype": dtype}
        self.weight = Parameter(_core.ones(num_features, **options)) if affine else None
        self.bias = Parameter(_core.zeros(num_features, **options)) if affine else None
        tracked = track_running_stats
        self.register_buffer("running_mean", _core.zeros(num_features, **options) if tracked else None)
        self.register_buffer("running_var", _core.ones(num_features, **options) if tracked else None)
        self.register_buffer("num_batches_tracked", _core.zeros((), dtype=_core.int64, device=device) if tracked else None)

    def reset_running_stats(self) -> None:
        if self.track_running_stats:
            self.running_mean.zero_()
            self.running_var.fill_(1)
            self.num_batches_tracked.zero_()

    def reset_parameters(self) -> None:
        self.reset_running_stats()
        if self.weight is not None and self.bias is not None:
            init.ones_(self.weight)
            init.zeros_(self.bias)

    def _check_input_dim(self, input: Tensor) -> None:
        raise NotImplementedError(f"{type(self).__name__} should implement _check_input_dim")

    def extra_repr(self) -> str:
        names = ("eps", "momentum", "affine", "track_running_stats")
        return Module.extra_repr(self) or ", ".join([str(self.num_features), *(f"{name}={getattr(self, name)}" for name in names)])


class BatchNormMethods(_Bound):
    """The batch normalization."""

    forward = normalised


class InstanceNormMethods(_Bound):
    """The instance normalization: per sample and channel."""

    def __init__(
        self,
        num_features: int,
        eps: float = 1e-5,
        momentum: float = 0.1,
        affine: bool = False,
        track_running_stats: bool = False,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super(_InstanceNorm, self).__init__(num_features, eps, momentum, affine, track_running_stats, device, dtype)

    def forward(self, input: Tensor) -> Tensor:
        self._check_input_dim(input)
        counts = self.training or not self.track_running_stats
        return F.instance_norm(input, self.running_mean, self.running_var, self.weight, self.bias, counts, self.momentum or 0.0, self.eps)


class DropoutMethods(_Bound):
    """Stores p and inplace."""

    def __init__(self, p: float = 0.5, inplace: bool = False) -> None:
        super(_DropoutNd, self).__init__()
        if not 0 <= p <= 1:
            raise ValueError(f"dropout probability has to be between 0 and 1, but got {p}")
        self.p, self.inplace = p, inplace

    def extra_repr(self) -> str:
        return Module.extra_repr(self) or f"p={self.p}, inplace={self.inplace}"


class ConvMethods(_Bound):
    """Weights and options of a convolution with any number of dimensions; `forward` is defined by the subclass."""

    _conv_forward = ConvolutionMethods._conv_forward
    _reversed_padding_repeated_twice = ConvolutionMethods._reversed_padding_repeated_twice

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: tuple[int, ...],
        stride: tuple[int, ...],
        padding: tuple[int, ...] | str,
        dilation: tuple[int, ...],
        transposed: bool,
        output_padding: tuple[int, ...],
        groups: int,
        bias: bool,
        padding_mode: str = "zeros",
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super(_ConvNd, self).__init__()
        for what, channels in (("in_channels", in_channels), ("out_channels", out_channels)):
            if channels % groups:
                raise ValueError(f"{what} must be divisible by groups")
        self.in_channels, self.out_channels, self.kernel_size, self.stride = in_channels, out_channels, kernel_size, stride
        self.padding, self.dilation, self.transposed, self.output_padding = padding, dilation, transposed, output_padding
        self.groups, self.padding_mode = groups, padding_mode
        first, second = (in_channels, out_channels) if transposed else (out_channels, in_channels)
        self.weight = Parameter(_core.empty(first, second // groups, *kernel_size, device=device, dtype=dtype))
        self.bias = Parameter(_core.empty(out_channels, device=device, dtype=dtype)) if bias else None
        self.reset_parameters()

    def reset_parameters(self) -> None:
        init.kaiming_uniform_(self.weight, a=math.sqrt(5))
        if self.bias is not None:
            fan_in = self.weight[0].numel()
            init.uniform_(self.bias, -1 / math.sqrt(fan_in), 1 / math.sqrt(fan_in))

    def extra_repr(self) -> str:
        return Module.extra_repr(self) or f"{self.in_channels}, {self.out_channels}, kernel_size={self.kernel_size}, stride={self.stride}"


METHODS = {
    _Loss: LossMethods,
    _WeightedLoss: WeightedLossMethods,
    _NormBase: NormMethods,
    _BatchNorm: BatchNormMethods,
    _InstanceNorm: InstanceNormMethods,
    _DropoutNd: DropoutMethods,
    _ConvNd: ConvMethods,
}
_NOT_METHODS = {"__module__", "__dict__", "__weakref__", "__doc__", "__qualname__", "__firstlineno__", "__static_attributes__"}


def base_class_methods() -> dict[Any, dict[str, Any]]:
    """Returns the methods to add, by base class."""
    return {target: {name: value for name, value in vars(source).items() if name not in _NOT_METHODS} for target, source in METHODS.items()}
