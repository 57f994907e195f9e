"""Transformers: stacks of layers, which are implemented in C++."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

from .. import _core
from .._core import Tensor, _nn
from .._core._nn import LayerNorm, Module, PositionalEncoding, RotaryEncoding, SwiGLU, TransformerLayerCache
from ..autograd import no_grad
from . import functional

__all__ = [
    "PositionalEncoding",
    "RotaryEncoding",
    "SwiGLU",
    "Transformer",
    "TransformerDecoder",
    "TransformerDecoderLayer",
    "TransformerEncoder",
    "TransformerEncoderLayer",
    "TransformerLayerCache",
]

# 'relu', 'gelu', a function or a module.
Activation = Any
_ModuleList: Any = getattr(_nn, "ModuleList", _nn.Sequential)


class _Function(Module):
    """Wraps a function as a module."""

    def __init__(self, function: Callable[[Tensor], Tensor]) -> None:
        super().__init__()
        self.function = function

    def forward(self, input: Tensor) -> Tensor:
        return self.function(input)

    def extra_repr(self) -> str:
        return getattr(self.function, "__name__", repr(self.function))


def _named(activation: Activation) -> tuple[str, Module | None]:
    """Returns the name of an activation known to C++, and the module that replaces it, if any."""
    if isinstance(activation, str):
        return activation, None
    if activation in (functional.relu, _core.relu):
        return "relu", None
    if activation in (functional.gelu, _core.gelu):
        return "gelu", None
    return "relu", activation if isinstance(activation, Module) else _Function(activation)


class _WithActivation:
    """Constructor of the layers: C++ knows two activations by name, others are modules."""

    _modules: Any

    def __init__(
        self,
        d_model: int,
        nhead: int,
        dim_feedforward: int = 2048,
        dropout: float = 0.1,
        activation: Activation = functional.relu,
        layer_norm_eps: float = 1e-5,
        batch_first: bool = False,
        norm_first: bool = False,
        bias: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        name, module = _named(activation)
        super().__init__(  # type: ignore[call-arg]
            d_model, nhead, dim_feedforward, dropout, name, layer_norm_eps, batch_first, norm_first, bias, device, dtype
        )
        if module is not None:
            self.activation = module

    def __getattribute__(self, name: str) -> Any:
        value = super().__getattribute__(name)
        if name != "activation":
            return value
        if isinstance(value, str):  # returns the function, as in PyTorch
            return getattr(functional, value)
        return value.function if isinstance(value, _Function) else value

    def __setattr__(self, name: str, value: Any) -> None:
        if name == "activation":
            known, module = _named(value)
            self._modules.pop(name, None)
            super().__setattr__(name, known)
            value = known if module is None else module
        super().__setattr__(name, value)


class TransformerEncoderLayer(_WithActivation, _nn.TransformerEncoderLayer):
    __doc__ = _nn.TransformerEncoderLayer.__doc__

    @property
    def activation_relu_or_gelu(self) -> int:
        """1 if the activation is relu, 2 if it is gelu, else 0."""
        activation = self.activation
        for number, (function, layer) in enumerate(((functional.relu, _nn.ReLU), (functional.gelu, _nn.GELU)), 1):
            if activation is function or isinstance(activation, layer):
                return number
        return 0


class TransformerDecoderLayer(_WithActivation, _nn.TransformerDecoderLayer):
    __doc__ = _nn.TransformerDecoderLayer.__doc__


class _Stack(Module):
    """A stack of copies of a layer, and an optional norm after the last."""

    def __init__(self, layer: Module, num_layers: int, norm: Module | None) -> None:
        super().__init__()
        self.layers = _ModuleList()
        for _ in range(num_layers):
            self.layers.append(copy.deepcopy(layer))
        self.num_layers = num_layers
        self.norm = norm

    def new_autoregressive_cache(self) -> list[TransformerLayerCache]:
        """Returns an empty cache for forward_cached, one per layer."""
        return [TransformerLayerCache() for _ in range(self.num_layers)]

    def _run(self, x: Tensor, step: Callable[[Any, int, Tensor], Tensor]) -> Tensor:
        for i, layer in enumerate(self.layers):
            x = step(layer, i, x)
        return x if self.norm is None else self.norm(x)


class TransformerEncoder(_Stack):
    """A stack of encoder layers.

    Args:
        encoder_layer: The layer, which is copied.
        num_layers: The number of layers.
        norm: The norm after the last layer.
        enable_nested_tensor: Accepted for compatibility; has no effect.
        mask_check: Accepted for compatibility; has no effect.

    >>> import pyburn
    >>> layer = pyburn.nn.TransformerEncoderLayer(4, 2, batch_first=True)
    >>> pyburn.nn.TransformerEncoder(layer, num_layers=2)(pyburn.ones(1, 5, 4)).shape
    pyburn.Size([1, 5, 4])
    """

    def __init__(
        self,
        encoder_layer: Module,
        num_layers: int,
        norm: Module | None = None,
        enable_nested_tensor: bool = True,
        mask_check: bool = True,
    ) -> None:
        super().__init__(encoder_layer, num_layers, norm)
        self.enable_nested_tensor, self.mask_check = enable_nested_tensor, mask_check  # without effect
        self.use_nested_tensor = False  # not supported

    def forward(
        self,
        src: Tensor,
        mask: Tensor | None = None,
        src_key_padding_mask: Tensor | None = None,
        is_causal: bool | None = None,
    ) -> Tensor:
        masks = {"src_mask": mask, "src_key_padding_mask": src_key_padding_mask, "is_causal": bool(is_causal)}
        return self._run(src, lambda layer, i, x: layer(x, **masks))

    def forward_cached(self, src: Tensor, cache: list[TransformerLayerCache]) -> Tensor:
        """Returns the outputs for the tokens after those in the cache, with causal masking.

        Args:
            src: The new tokens (N, T, E).
            cache: The caches of the layers, which are updated.
        """
        return self._run(src, lambda layer, i, x: layer.forward_cached(x, cache[i]))


class TransformerDecoder(_Stack):
    """A stack of decoder layers.

    Args:
        decoder_layer: The layer, which is copied.
        num_layers: The number of layers.
        norm: The norm after the last layer.

    >>> import pyburn
    >>> layer = pyburn.nn.TransformerDecoderLayer(4, 2, batch_first=True)
    >>> pyburn.nn.TransformerDecoder(layer, num_layers=2)(pyburn.ones(1, 5, 4), pyburn.ones(1, 3, 4)).shape
    pyburn.Size([1, 5, 4])
    """

    def __init__(self, decoder_layer: Module, num_layers: int, norm: Module | None = None) -> None:
        super().__init__(decoder_layer, num_layers, norm)

    def forward(
        self,
        tgt: Tensor,
        memory: Tensor,
        tgt_mask: Tensor | None = None,
        memory_mask: Tensor | None = None,
        tgt_key_padding_mask: Tensor | None = None,
        memory_key_padding_mask: Tensor | None = None,
        tgt_is_causal: bool | None = None,
        memory_is_causal: bool = False,
    ) -> Tensor:
        masks = {
            "tgt_mask": tgt_mask,
            "memory_mask": memory_mask,
            "tgt_key_padding_mask": tgt_key_padding_mask,
            "memory_key_padding_mask": memory_key_padding_mask,
            "tgt_is_causal": bool(tgt_is_causal),
            "memory_is_causal": memory_is_causal,
        }
        return self._run(tgt, lambda layer, i, x: layer(x, memory, **masks))

    def forward_cached(self, tgt: Tensor, memory: Tensor, cache: list[TransformerLayerCache]) -> Tensor:
        """Returns the outputs for the tokens after those in the cache, with causal masking.

        Args:
            tgt: The new tokens (N, T, E).
            memory: The output of the encoder.
            cache: The caches of the layers, which are updated.
        """
        return self._run(tgt, lambda layer, i, x: layer.forward_cached(x, memory, cache[i]))


class Transformer(Module):
    """An encoder, and a decoder that attends to its output.

    Args:
        d_model: The number of features.
        nhead: The number of attention heads.
        num_encoder_layers: The number of encoder layers.
        num_decoder_layers: The number of decoder layers.
        dim_feedforward: The hidden size of the feed-forward blocks.
        dropout: The dropout probability.
        activation: "relu", "gelu", a function or a module.
        custom_encoder: Replaces the encoder.
        custom_decoder: Replaces the decoder.
        layer_norm_eps: The eps of the layer norms.
        batch_first: Whether the batch is the first dimension instead of the second.
        norm_first: Whether to normalize before each block instead of after it.
        bias: Whether the layers have biases.
        device: The device.
        dtype: The dtype.

    >>> import pyburn
    >>> model = pyburn.nn.Transformer(d_model=4, nhead=2, num_encoder_layers=1, num_decoder_layers=1, dim_feedforward=8)
    >>> model(pyburn.ones(3, 1, 4), pyburn.ones(5, 1, 4)).shape
    pyburn.Size([5, 1, 4])
    """

    def __init__(
        self,
        d_model: int = 512,
        nhead: int = 8,
        num_encoder_layers: int = 6,
        num_decoder_layers: int = 6,
        dim_feedforward: int = 2048,
        dropout: float = 0.1,
        activation: Activation = functional.relu,
        custom_encoder: Module | None = None,
        custom_decoder: Module | None = None,
        layer_norm_eps: float = 1e-5,
        batch_first: bool = False,
        norm_first: bool = False,
        bias: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        options = (d_model, nhead, dim_feedforward, dropout, activation, layer_norm_eps, batch_first, norm_first, bias, device, dtype)

        def norm() -> Module:
            return LayerNorm(d_model, eps=layer_norm_eps, bias=bias, device=device, dtype=dtype)

        self.encoder = custom_encoder or TransformerEncoder(TransformerEncoderLayer(*options), num_encoder_layers, norm())
        self.decoder = custom_decoder or TransformerDecoder(TransformerDecoderLayer(*options), num_decoder_layers, norm())
        self._reset_parameters()
        self.d_model, self.nhead, self.batch_first = d_model, nhead, batch_first

    def forward(
        self,
        src: Tensor,
        tgt: Tensor,
        src_mask: Tensor | None = None,
        tgt_mask: Tensor | None = None,
        memory_mask: Tensor | None = None,
        src_key_padding_mask: Tensor | None = None,
        tgt_key_padding_mask: Tensor | None = None,
        memory_key_padding_mask: Tensor | None = None,
        src_is_causal: bool | None = None,
        tgt_is_causal: bool | None = None,
        memory_is_causal: bool = False,
    ) -> Tensor:
        batch = 0 if self.batch_first else 1
        if src.dim() == 3 and src.size(batch) != tgt.size(batch):
            raise RuntimeError("the batch number of src and tgt must be equal")
        if src.size(-1) != self.d_model or tgt.size(-1) != self.d_model:
            raise RuntimeError("the feature number of src and tgt must be equal to d_model")
        memory = self.encoder(src, mask=src_mask, src_key_padding_mask=src_key_padding_mask, is_causal=src_is_causal)
        return self.decoder(
            tgt,
            memory,
            tgt_mask=tgt_mask,
            memory_mask=memory_mask,
            tgt_key_padding_mask=tgt_key_padding_mask,
            memory_key_padding_mask=memory_key_padding_mask,
            tgt_is_causal=tgt_is_causal,
            memory_is_causal=memory_is_causal,
        )

    @staticmethod
    def generate_square_subsequent_mask(sz: int, device: Any = None, dtype: Any = None) -> Tensor:
        """Returns the causal mask (sz, sz): -inf above the diagonal, else 0.

        Args:
            sz: The number of tokens.
            device: The device.
            dtype: The dtype.
        """
        return _nn._square_subsequent_mask(sz, device, dtype)

    def _reset_parameters(self) -> None:
        with no_grad():
            for p in self.parameters():
                if p.dim() > 1:
                    bound = (6 / (p.size(0) + p.size(1))) ** 0.5
                    p.uniform_(-bound, bound)


for _class in (TransformerEncoderLayer, TransformerDecoderLayer, TransformerEncoder, TransformerDecoder, Transformer):
    _class.__module__ = "pyburn.nn"
