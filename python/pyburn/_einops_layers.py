"""einops' layers for pyburn, `from einops.layers.pyburn import Rearrange`: their rules are einops' own. Needs einops."""

from __future__ import annotations

from typing import Any

from einops.layers import RearrangeMixin, ReduceMixin
from einops.layers._einmix import _EinmixMixin

from . import _core, nn
from .tensor import einsum

__all__ = ["EinMix", "Rearrange", "Reduce"]


class Rearrange(RearrangeMixin, nn.Module):  # type: ignore[misc]
    """`einops.rearrange` as a layer."""

    def forward(self, input: Any) -> Any:
        return self._apply_recipe(input)


class Reduce(ReduceMixin, nn.Module):  # type: ignore[misc]
    """`einops.reduce` as a layer."""

    def forward(self, input: Any) -> Any:
        return self._apply_recipe(input)


class EinMix(_EinmixMixin, nn.Module):  # type: ignore[misc]
    """A linear layer over the axes that its pattern names."""

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
