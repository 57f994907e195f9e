"""einops support: after `import pyburn.einops`, einops functions accept pyburn tensors. The layers of einops are here as well.

import einops
import pyburn.einops

einops.rearrange(pyburn.ones(2, 3, 4), "a b c -> a (b c)")
pyburn.nn.Sequential(pyburn.einops.Rearrange("a b c -> a (b c)"), pyburn.nn.Linear(12, 6))
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from types import ModuleType
from typing import Any

from einops._backends import AbstractBackend
from einops.layers import RearrangeMixin, ReduceMixin
from einops.layers._einmix import _EinmixMixin

from . import _core, nn
from .tensor import einsum, from_numpy

__all__ = ["EinMix", "Rearrange", "Reduce"]


class PyburnBackend(AbstractBackend):  # type: ignore[misc]
    """The einops backend of pyburn. einops finds it among the subclasses of AbstractBackend."""

    framework_name = "pyburn"
    _reductions = {"min": "amin", "max": "amax"}  # over several dimensions; `min` and `max` take one

    def is_appropriate_type(self, tensor: Any) -> bool:
        return isinstance(tensor, _core.Tensor)

    def from_numpy(self, x: Any) -> Any:
        return from_numpy(x)

    def to_numpy(self, x: Any) -> Any:
        return x.detach().numpy()

    def arange(self, start: int, stop: int) -> Any:
        return _core.arange(start, stop, dtype=_core.int64)

    def transpose(self, x: Any, axes: Sequence[int]) -> Any:
        return x.permute(axes)

    def reduce(self, x: Any, operation: str, axes: Sequence[int]) -> Any:
        if operation != "prod":
            return getattr(x, self._reductions.get(operation, operation))(dim=tuple(axes))
        for axis in sorted(axes, reverse=True):
            x = x.prod(dim=axis)
        return x

    def stack_on_zeroth_dimension(self, tensors: list[Any]) -> Any:
        return _core.stack(tensors)

    def add_axis(self, x: Any, new_position: int) -> Any:
        return x.unsqueeze(new_position)

    def tile(self, x: Any, repeats: Sequence[int]) -> Any:
        return x.expand([-1 if n == 1 else n for n in repeats])  # einops only tiles new dimensions

    def concat(self, tensors: Sequence[Any], axis: int) -> Any:
        return _core.cat(tensors, dim=axis)

    def is_float_type(self, x: Any) -> bool:
        return bool(x.is_floating_point())

    def layers(self) -> ModuleType:
        return sys.modules[__name__]

    def einsum(self, pattern: str, *x: Any) -> Any:
        return einsum(pattern, *x)


class Rearrange(RearrangeMixin, nn.Module):  # type: ignore[misc]
    """`einops.rearrange` as a layer.

    Args:
        pattern: The rearrangement pattern of einops, such as "b c h w -> b (c h w)".
        **axes_lengths: Sizes of dimensions that the pattern names.

    >>> Rearrange("b c h w -> b (c h w)")(pyburn.ones(2, 3, 4, 4)).shape
    pyburn.Size([2, 48])
    """

    def forward(self, input: Any) -> Any:
        return self._apply_recipe(input)


class Reduce(ReduceMixin, nn.Module):  # type: ignore[misc]
    """`einops.reduce` as a layer.

    Args:
        pattern: The reduction pattern of einops, such as "b c (h 2) (w 2) -> b c h w".
        reduction: "min", "max", "sum", "mean" or "prod".
        **axes_lengths: Sizes of dimensions that the pattern names.

    >>> Reduce("b c (h 2) (w 2) -> b c h w", "max")(pyburn.ones(2, 3, 4, 4)).shape
    pyburn.Size([2, 3, 2, 2])
    """

    def forward(self, input: Any) -> Any:
        return self._apply_recipe(input)


class EinMix(_EinmixMixin, nn.Module):  # type: ignore[misc]
    """`einops.einsum` with learned weights, as a layer.

    Args:
        pattern: The pattern of the input and the output, such as "b t c -> b t d".
        weight_shape: The dimensions of the weight, such as "c d".
        bias_shape: The dimensions of the bias; None for no bias.
        **axes_lengths: Sizes of the dimensions of weight and bias.

    >>> EinMix("b t c -> b t d", weight_shape="c d", bias_shape="d", c=3, d=5)(pyburn.ones(2, 4, 3)).shape
    pyburn.Size([2, 4, 5])
    """

    def _create_parameters(self, weight_shape: Any, weight_bound: float, bias_shape: Any, bias_bound: float) -> None:
        def drawn(shape: Any, bound: float) -> Any:
            return nn.Parameter(_core.empty(*shape).uniform_(-bound, bound))

        self.weight = drawn(weight_shape, weight_bound)
        self.bias = None if bias_shape is None else drawn(bias_shape, bias_bound)

    def _create_rearrange_layers(self, pre_pattern: Any, pre_lengths: Any, post_pattern: Any, post_lengths: Any) -> None:
        self.pre_rearrange = None if pre_pattern is None else Rearrange(pre_pattern, **pre_lengths)
        self.post_rearrange = None if post_pattern is None else Rearrange(post_pattern, **post_lengths)

    def forward(self, input: Any) -> Any:
        x = input if self.pre_rearrange is None else self.pre_rearrange(input)
        y = einsum(self.einsum_pattern, x, self.weight)
        y = y if self.bias is None else y + self.bias
        return y if self.post_rearrange is None else self.post_rearrange(y)
