"""Vision transformers (Dosovitskiy et al. 2020)."""

from __future__ import annotations

import math
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

import pyburn
from pyburn import Tensor, nn

from .blocks import MLP, Conv2dNormActivation
from .building import NormLayer, Weights, build, variant

__all__ = ["VisionTransformer", "vit_b_16", "vit_b_32", "vit_h_14", "vit_l_16", "vit_l_32"]

_NORM = partial(nn.LayerNorm, eps=1e-6)


class ConvStemConfig(NamedTuple):
    """A convolution of a stem that replaces the patch embedding (Xiao et al. 2021)."""

    out_channels: int
    kernel_size: int
    stride: int
    norm_layer: Callable[..., nn.Module] = nn.BatchNorm2d
    activation_layer: Callable[..., nn.Module] = nn.ReLU


class MLPBlock(MLP):
    """Two linear layers with a GELU between them."""

    _version = 2

    def __init__(self, in_dim: int, mlp_dim: int, dropout: float) -> None:
        super().__init__(in_dim, [mlp_dim, in_dim], activation_layer=nn.GELU, dropout=dropout)
        for layer in (self[0], self[3]):
            nn.init.xavier_uniform_(layer.weight)
            nn.init.normal_(layer.bias, std=1e-6)

    def _load_from_state_dict(self, state_dict: Any, prefix: str, *args: Any) -> None:
        """Renames linear_1 and linear_2 of the published checkpoints."""
        for old, new in (("linear_1", "0"), ("linear_2", "3")):
            for name in ("weight", "bias"):
                if f"{prefix}{old}.{name}" in state_dict:
                    state_dict[f"{prefix}{new}.{name}"] = state_dict.pop(f"{prefix}{old}.{name}")
        super()._load_from_state_dict(state_dict, prefix, *args)  # type: ignore[misc]


class EncoderBlock(nn.Module):
    """Pre-norm transformer block: self-attention and an MLP, each with a residual connection."""

    def __init__(
        self,
        num_heads: int,
        hidden_dim: int,
        mlp_dim: int,
        dropout: float,
        attention_dropout: float,
        norm_layer: NormLayer = _NORM,
    ) -> None:
        super().__init__()
        self.num_heads = num_heads
        self.ln_1 = norm_layer(hidden_dim)
        self.self_attention = nn.MultiheadAttention(hidden_dim, num_heads, dropout=attention_dropout, batch_first=True)
        self.dropout = nn.Dropout(dropout)
        self.ln_2 = norm_layer(hidden_dim)
        self.mlp = MLPBlock(hidden_dim, mlp_dim, dropout)

    def forward(self, tokens: Tensor) -> Tensor:
        x = self.ln_1(tokens)
        x, _ = self.self_attention(x, x, x, need_weights=False)
        x = self.dropout(x) + tokens
        return x + self.mlp(self.ln_2(x))


class Encoder(nn.Module):
    """Position embeddings, transformer blocks and a final norm."""

    def __init__(
        self,
        seq_length: int,
        num_layers: int,
        num_heads: int,
        hidden_dim: int,
        mlp_dim: int,
        dropout: float,
        attention_dropout: float,
        norm_layer: NormLayer = _NORM,
    ) -> None:
        super().__init__()
        self.pos_embedding = nn.Parameter(pyburn.empty(1, seq_length, hidden_dim))
        nn.init.normal_(self.pos_embedding, std=0.02)
        self.dropout = nn.Dropout(dropout)
        self.layers = nn.Sequential(
            OrderedDict(
                (f"encoder_layer_{k}", EncoderBlock(num_heads, hidden_dim, mlp_dim, dropout, attention_dropout, norm_layer))
                for k in range(num_layers)
            )
        )
        self.ln = norm_layer(hidden_dim)

    def forward(self, tokens: Tensor) -> Tensor:
        return self.ln(self.layers(self.dropout(tokens + self.pos_embedding)))


class VisionTransformer(nn.Module):
    """Vision transformer: classifies the class token of a sequence of image patches.

    Args:
        image_size: The height and width of the images.
        patch_size: The height and width of a patch.
        num_layers: The number of transformer blocks.
        num_heads: The number of attention heads.
        hidden_dim: The size of a token.
        mlp_dim: The hidden size of the MLPs.
        dropout: The dropout rate.
        attention_dropout: The dropout rate of the attention weights.
        num_classes: The number of classes.
        representation_size: The size of a hidden layer of the classifier; None for none.
        norm_layer: Creates a norm of a size; by default LayerNorm with eps=1e-6.
        conv_stem_configs: Convolutions that replace the embedding of patches.

    Raises:
        ValueError: The image size is not a multiple of the patch size.

    >>> p_vision.models.VisionTransformer(32, 8, 2, 4, 64, 128, num_classes=10)(pyburn.rand(1, 3, 32, 32)).shape
    pyburn.Size([1, 10])
    """

    def __init__(
        self,
        image_size: int,
        patch_size: int,
        num_layers: int,
        num_heads: int,
        hidden_dim: int,
        mlp_dim: int,
        dropout: float = 0.0,
        attention_dropout: float = 0.0,
        num_classes: int = 1000,
        representation_size: int | None = None,
        norm_layer: NormLayer = _NORM,
        conv_stem_configs: Sequence[ConvStemConfig] | None = None,
    ) -> None:
        super().__init__()
        if image_size % patch_size != 0:
            raise ValueError(f"Input shape indivisible by patch size! image_size is {image_size}, patch_size {patch_size}")
        self.image_size, self.patch_size = image_size, patch_size
        self.hidden_dim, self.mlp_dim = hidden_dim, mlp_dim
        self.dropout, self.attention_dropout = dropout, attention_dropout
        self.num_classes, self.representation_size = num_classes, representation_size
        self.norm_layer = norm_layer

        self.conv_proj: Any = _patches(hidden_dim, patch_size) if conv_stem_configs is None else _conv_stem(conv_stem_configs, hidden_dim)
        self.class_token = nn.Parameter(pyburn.zeros(1, 1, hidden_dim))
        self.seq_length = (image_size // patch_size) ** 2 + 1
        self.encoder = Encoder(self.seq_length, num_layers, num_heads, hidden_dim, mlp_dim, dropout, attention_dropout, norm_layer)
        self.heads = _heads(hidden_dim, representation_size, num_classes)

    def forward(self, x: Tensor) -> Tensor:
        batch, _, height, width = x.shape
        for name, size in (("height", height), ("width", width)):
            if size != self.image_size:
                raise ValueError(f"Wrong image {name}! Expected {self.image_size} but got {size}!")
        patches = self.conv_proj(x).flatten(2).permute(0, 2, 1)
        tokens = pyburn.cat([self.class_token.expand(batch, -1, -1), patches], dim=1)
        return self.heads(self.encoder(tokens)[:, 0])


def _patches(hidden_dim: int, patch_size: int) -> nn.Conv2d:
    layer = nn.Conv2d(3, hidden_dim, kernel_size=patch_size, stride=patch_size)
    nn.init.trunc_normal_(layer.weight, std=math.sqrt(1 / (3 * patch_size * patch_size)))
    nn.init.zeros_(layer.bias)
    return layer


def _conv_stem(configs: Sequence[ConvStemConfig], hidden_dim: int) -> nn.Sequential:
    stem = nn.Sequential()
    channels = 3
    for k, c in enumerate(configs):
        block = Conv2dNormActivation(
            channels, c.out_channels, c.kernel_size, c.stride, norm_layer=c.norm_layer, activation_layer=c.activation_layer
        )
        stem.add_module(f"conv_bn_relu_{k}", block)
        channels = c.out_channels
    last = nn.Conv2d(channels, hidden_dim, kernel_size=1)
    nn.init.normal_(last.weight, mean=0.0, std=math.sqrt(2.0 / hidden_dim))
    nn.init.zeros_(last.bias)
    stem.add_module("conv_last", last)
    return stem


def _heads(hidden_dim: int, representation_size: int | None, num_classes: int) -> nn.Sequential:
    """Builds the classifier; its last layer is initialized to zero."""
    layers: OrderedDict[str, nn.Module] = OrderedDict()
    inputs = hidden_dim
    if representation_size is not None:
        before = nn.Linear(hidden_dim, representation_size)
        nn.init.trunc_normal_(before.weight, std=math.sqrt(1 / hidden_dim))
        nn.init.zeros_(before.bias)
        layers["pre_logits"], layers["act"] = before, nn.Tanh()
        inputs = representation_size
    head = nn.Linear(inputs, num_classes)
    nn.init.zeros_(head.weight)
    nn.init.zeros_(head.bias)
    layers["head"] = head
    return nn.Sequential(layers)


def interpolate_embeddings(
    image_size: int, patch_size: int, model_state: Mapping[str, Tensor], interpolation_mode: str = "bicubic", reset_heads: bool = False
) -> dict[str, Tensor]:
    """Adapts a state dict to another image size by interpolating the position embeddings. `reset_heads` drops the heads."""
    state = dict(model_state)
    positions = state["encoder.pos_embedding"]
    one, length, hidden = positions.shape
    old, new = math.isqrt(length - 1), image_size // patch_size
    if one != 1 or old * old != length - 1:
        raise ValueError(f"Unexpected position embedding shape: {tuple(positions.shape)}")
    if new != old:
        grid = positions[:, 1:].permute(0, 2, 1).reshape(1, hidden, old, old)
        grid = nn.functional.interpolate(grid, size=new, mode=interpolation_mode, align_corners=True)
        state["encoder.pos_embedding"] = pyburn.cat([positions[:, :1], grid.flatten(2).permute(0, 2, 1)], dim=1)
        if reset_heads:
            state = {name: tensor for name, tensor in state.items() if not name.startswith("heads")}
    return state


def _vit(weights: Weights | None, patch_size: int, layers: int, heads: int, hidden: int, mlp: int, **options: Any) -> VisionTransformer:
    return build(VisionTransformer, weights, options.pop("image_size", 224), patch_size, layers, heads, hidden, mlp, **options)


vit_b_16 = variant("vit_b_16", "ViT-B/16", 86.6, _vit, 16, 12, 12, 768, 3072)
vit_b_32 = variant("vit_b_32", "ViT-B/32", 88.2, _vit, 32, 12, 12, 768, 3072)
vit_l_16 = variant("vit_l_16", "ViT-L/16", 304, _vit, 16, 24, 16, 1024, 4096)
vit_l_32 = variant("vit_l_32", "ViT-L/32", 307, _vit, 32, 24, 16, 1024, 4096)
vit_h_14 = variant("vit_h_14", "ViT-H/14", 632, _vit, 14, 32, 16, 1280, 5120)
