"""PyTorch's private methods and attributes of layers, which subclasses call and override.

Layers run in C++, which does not call these methods; a subclass that overrides one gets a `forward` that does.
"""

from __future__ import annotations

from typing import Any

from .._core import Tensor
from .._core import _nn as layers
from ..nn import TransformerDecoderLayer, TransformerEncoderLayer
from ..nn import functional as F


def _overriding(layer: Any, names: tuple[str, ...], forward: Any) -> Any:
    """Returns an __init_subclass__: subclasses that override one of these methods, and not `forward`, use the Python `forward`."""
    plain = layer.forward

    def __init_subclass__(cls: Any, **options: Any) -> None:
        super(layer, cls).__init_subclass__(**options)
        if any(name in vars(cls) for name in names) and cls.forward is plain:
            cls.forward = forward

    return classmethod(__init_subclass__)


class ConvolutionMethods:
    """Methods of Conv1d, Conv2d and Conv3d."""

    transposed = False

    def _conv_forward(self: Any, input: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
        """Computes the convolution with the given weight and bias."""
        padding = self.padding
        if self.padding_mode != "zeros":
            input, padding = F.pad(input, self._reversed_padding_repeated_twice, mode=self.padding_mode), 0
        convolution = (F.conv1d, F.conv2d, F.conv3d)[weight.ndim - 3]
        return convolution(input, weight, bias, self.stride, padding, self.dilation, self.groups)

    @property
    def output_padding(self: Any) -> tuple[int, ...]:
        return (0,) * len(self.kernel_size)

    @property
    def _reversed_padding_repeated_twice(self: Any) -> list[int]:
        """The padding in the order of F.pad: last dimension first, before and after."""
        pads: list[int] = []
        for axis in reversed(range(len(self.kernel_size))):
            if isinstance(self.padding, str):
                total = self.dilation[axis] * (self.kernel_size[axis] - 1) if self.padding == "same" else 0
                pads += [total // 2, total - total // 2]
            else:
                pads += [self.padding[axis]] * 2
        return pads


def convolved(self: Any, input: Tensor) -> Tensor:
    return self._conv_forward(input, self.weight, self.bias)  # type: ignore[no-any-return]


def normalised(self: Any, input: Tensor) -> Tensor:
    """Computes the batch normalization, for subclasses with their own input check."""
    self._check_input_dim(input)
    momentum = self.momentum
    if self.training and self.track_running_stats and self.num_batches_tracked is not None:
        self.num_batches_tracked.add_(1)
        momentum = 1.0 / float(self.num_batches_tracked) if momentum is None else momentum
    counts = self.training or (self.running_mean is None and self.running_var is None)
    mean, var = (self.running_mean, self.running_var) if not self.training or self.track_running_stats else (None, None)
    return F.batch_norm(input, mean, var, self.weight, self.bias, counts, 0.0 if momentum is None else momentum, self.eps)


class BatchNormMethods:
    """Methods of BatchNorm1d, 2d and 3d."""

    def _check_input_dim(self: Any, input: Tensor) -> None:
        """Raises ValueError if the number of dimensions is wrong."""
        ranks = {"BatchNorm1d": (2, 3), "BatchNorm2d": (4,), "BatchNorm3d": (5,)}
        mine = next(rank for kind in type(self).__mro__ if (rank := ranks.get(kind.__name__)) is not None)
        if input.ndim not in mine:
            raise ValueError(f"expected {' or '.join(f'{n}D' for n in mine)} input (got {input.ndim}D input)")


class RecurrentMethods:
    """Methods of RNN, LSTM and GRU: the weight names, and the weights in that order."""

    @property
    def _all_weights(self: Any) -> list[list[str]]:
        names = [name for name, _ in self.named_parameters(recurse=False)]
        ends = [f"l{layer}{side}" for layer in range(self.num_layers) for side in (("", "_reverse") if self.bidirectional else ("",))]
        return [[name for name in names if name.rsplit("_l", 1)[1] == end[1:]] for end in ends]

    @property
    def _flat_weights_names(self: Any) -> list[str]:
        return [name for names in self._all_weights for name in names]

    @property
    def _flat_weights(self: Any) -> list[Tensor]:
        return [getattr(self, name) for name in self._flat_weights_names]


def _activated(self: Any, x: Tensor) -> Tensor:
    """Applies the activation, which is a name known to C++ or a Python module."""
    return (getattr(F, self.activation) if isinstance(self.activation, str) else self.activation)(x)  # type: ignore[no-any-return]


class EncoderLayerMethods:
    """Methods of TransformerEncoderLayer: its two blocks."""

    def _sa_block(self: Any, x: Tensor, attn_mask: Tensor | None, key_padding_mask: Tensor | None, is_causal: bool = False) -> Tensor:
        options = {"attn_mask": attn_mask, "key_padding_mask": key_padding_mask, "need_weights": False, "is_causal": is_causal}
        return self.dropout1(self.self_attn(x, x, x, **options)[0])  # type: ignore[no-any-return]

    def _ff_block(self: Any, x: Tensor) -> Tensor:
        return self.dropout2(self.linear2(self.dropout(_activated(self, self.linear1(x)))))  # type: ignore[no-any-return]


class DecoderLayerMethods:
    """Methods of TransformerDecoderLayer: its three blocks."""

    _sa_block = EncoderLayerMethods._sa_block

    def _mha_block(
        self: Any, x: Tensor, mem: Tensor, attn_mask: Tensor | None, key_padding_mask: Tensor | None, is_causal: bool = False
    ) -> Tensor:
        options = {"attn_mask": attn_mask, "key_padding_mask": key_padding_mask, "need_weights": False, "is_causal": is_causal}
        return self.dropout2(self.multihead_attn(x, mem, mem, **options)[0])  # type: ignore[no-any-return]

    def _ff_block(self: Any, x: Tensor) -> Tensor:
        return self.dropout3(self.linear2(self.dropout(_activated(self, self.linear1(x)))))  # type: ignore[no-any-return]


def _encoded(
    self: Any, src: Tensor, src_mask: Tensor | None = None, src_key_padding_mask: Tensor | None = None, is_causal: bool = False
) -> Tensor:
    if self.norm_first:
        src = src + self._sa_block(self.norm1(src), src_mask, src_key_padding_mask, is_causal=is_causal)
        return src + self._ff_block(self.norm2(src))
    src = self.norm1(src + self._sa_block(src, src_mask, src_key_padding_mask, is_causal=is_causal))
    return self.norm2(src + self._ff_block(src))  # type: ignore[no-any-return]


def _decoded(
    self: Any,
    tgt: Tensor,
    memory: Tensor,
    tgt_mask: Tensor | None = None,
    memory_mask: Tensor | None = None,
    tgt_key_padding_mask: Tensor | None = None,
    memory_key_padding_mask: Tensor | None = None,
    tgt_is_causal: bool = False,
    memory_is_causal: bool = False,
) -> Tensor:
    own, other = (tgt_mask, tgt_key_padding_mask, tgt_is_causal), (memory_mask, memory_key_padding_mask, memory_is_causal)
    if self.norm_first:
        tgt = tgt + self._sa_block(self.norm1(tgt), *own)
        tgt = tgt + self._mha_block(self.norm2(tgt), memory, *other)
        return tgt + self._ff_block(self.norm3(tgt))
    tgt = self.norm1(tgt + self._sa_block(tgt, *own))
    tgt = self.norm2(tgt + self._mha_block(tgt, memory, *other))
    return self.norm3(tgt + self._ff_block(tgt))  # type: ignore[no-any-return]


_CONVOLUTIONS = (layers.Conv1d, layers.Conv2d, layers.Conv3d)
_NORMS = (layers.BatchNorm1d, layers.BatchNorm2d, layers.BatchNorm3d)
_ROWS: tuple[tuple[tuple[Any, ...], Any, tuple[str, ...], Any], ...] = (
    (_CONVOLUTIONS, ConvolutionMethods, ("_conv_forward",), convolved),
    (_NORMS, BatchNormMethods, ("_check_input_dim",), normalised),
    ((layers.RNNBase,), RecurrentMethods, (), None),
    ((TransformerEncoderLayer,), EncoderLayerMethods, ("_sa_block", "_ff_block"), _encoded),
    ((TransformerDecoderLayer,), DecoderLayerMethods, ("_sa_block", "_mha_block", "_ff_block"), _decoded),
)


def layer_methods() -> dict[Any, dict[str, Any]]:
    """Returns the methods to add, by layer."""
    added: dict[Any, dict[str, Any]] = {
        layer: {name: value for name, value in vars(source).items() if not name.startswith("__")}
        | ({"__init_subclass__": _overriding(layer, names, forward)} if names else {})
        for targets, source, names, forward in _ROWS
        for layer in targets
    }
    transposed = (layers.ConvTranspose1d, layers.ConvTranspose2d, layers.ConvTranspose3d)
    attention = {
        "_qkv_same_embed_dim": property(lambda self: self.in_proj_weight is not None),
        "_reset_parameters": layers.MultiheadAttention.reset_parameters,
    }
    return added | {layer: {"transposed": True} for layer in transposed} | {layers.MultiheadAttention: attention}
