"""Swin Transformer, versions 1 and 2 (Liu et al. 2021, 2022)."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import pyburn
from pyburn import Tensor, nn

from .blocks import MLP, Permute, StochasticDepth, init_truncated_
from .building import NormLayer, Weights, build, variant

__all__ = ["SwinTransformer", "swin_b", "swin_s", "swin_t", "swin_v2_b", "swin_v2_s", "swin_v2_t"]

F = nn.functional


def _neighbours(x: Tensor) -> Tensor:
    """Concatenates the channels of each 2 x 2 pixels: (..., H, W, C) to (..., H/2, W/2, 4C)."""
    x = F.pad(x, (0, 0, 0, x.shape[-2] % 2, 0, x.shape[-3] % 2))
    return pyburn.cat([x[..., i::2, j::2, :] for j in (0, 1) for i in (0, 1)], -1)


class PatchMerging(nn.Module):
    """Halves the size and doubles the channels."""

    def __init__(self, dim: int, norm_layer: NormLayer = nn.LayerNorm) -> None:
        super().__init__()
        self.reduction = nn.Linear(4 * dim, 2 * dim, bias=False)
        self.norm = norm_layer(4 * dim)

    def forward(self, x: Tensor) -> Tensor:
        return self.reduction(self.norm(_neighbours(x)))


class PatchMergingV2(nn.Module):
    """PatchMerging with the norm after the linear layer."""

    def __init__(self, dim: int, norm_layer: NormLayer = nn.LayerNorm) -> None:
        super().__init__()
        self.reduction = nn.Linear(4 * dim, 2 * dim, bias=False)
        self.norm = norm_layer(2 * dim)

    def forward(self, x: Tensor) -> Tensor:
        return self.norm(self.reduction(_neighbours(x)))


class ShiftedWindowAttention(nn.Module):
    """Self-attention inside windows, which a cyclic shift moves in every other block."""

    def __init__(
        self,
        dim: int,
        window_size: Sequence[int],
        shift_size: Sequence[int],
        num_heads: int,
        qkv_bias: bool = True,
        proj_bias: bool = True,
        attention_dropout: float = 0.0,
        dropout: float = 0.0,
    ) -> None:
        super().__init__()
        if len(window_size) != 2 or len(shift_size) != 2:
            raise ValueError("window_size and shift_size must be of length 2")
        self.window_size, self.shift_size, self.num_heads = list(window_size), list(shift_size), num_heads
        self.attention_dropout, self.dropout = attention_dropout, dropout
        self.qkv = nn.Linear(dim, 3 * dim, bias=qkv_bias)
        self.proj = nn.Linear(dim, dim, bias=proj_bias)
        self._define_bias()
        height, width = self.window_size
        places = pyburn.stack(pyburn.meshgrid(pyburn.arange(height), pyburn.arange(width), indexing="ij")).flatten(1)
        apart = places[:, :, None] - places[:, None, :]  # rows and columns between each two pixels of a window
        index = (apart[0] + height - 1) * (2 * width - 1) + apart[1] + width - 1
        self.register_buffer("relative_position_index", index.flatten())

    def _define_bias(self) -> None:
        height, width = self.window_size
        self.relative_position_bias_table = nn.Parameter(pyburn.zeros((2 * height - 1) * (2 * width - 1), self.num_heads))
        nn.init.trunc_normal_(self.relative_position_bias_table, std=0.02)

    def _bias_table(self) -> Tensor:
        """The bias of each relative position and head."""
        return self.relative_position_bias_table

    def _relative_position_bias(self) -> Tensor:
        pixels = self.window_size[0] * self.window_size[1]
        return self._bias_table()[self.relative_position_index].reshape(pixels, pixels, -1).permute(2, 0, 1)

    def _qkv(self, windows: Tensor) -> Tensor:
        return self.qkv(windows)

    def _scores(self, q: Tensor, k: Tensor) -> Tensor:
        return (q * q.shape[-1] ** -0.5) @ k.transpose(-2, -1)

    def _mask(self, height: int, width: int, shift: Sequence[int]) -> Tensor:
        """-100 between pixels of a window that are not neighbours before the shift: (windows, pixels, pixels)."""
        rows, columns = (
            pyburn.arange(extent).ge(extent - window).long() + pyburn.arange(extent).ge(extent - by).long()
            if by
            else pyburn.zeros(extent, dtype=pyburn.int64)
            for extent, window, by in zip((height, width), self.window_size, shift, strict=True)
        )
        regions = self._windows((rows[:, None] * 3 + columns)[None, :, :, None])[..., 0]
        return (regions[:, None, :] != regions[:, :, None]).float() * -100.0

    def _windows(self, x: Tensor) -> Tensor:
        """(N, H, W, C) to (windows, pixels, C)."""
        n, height, width, channels = x.shape
        h, w = self.window_size
        return x.reshape(n, height // h, h, width // w, w, channels).permute(0, 1, 3, 2, 4, 5).reshape(-1, h * w, channels)

    def forward(self, x: Tensor) -> Tensor:
        n, height, width, channels = x.shape
        h, w = self.window_size
        x = F.pad(x, (0, 0, 0, -width % w, 0, -height % h))
        high, wide = x.shape[1:3]
        shift = [0 if window >= extent else by for window, extent, by in zip((h, w), (high, wide), self.shift_size, strict=True)]
        if any(shift):
            x = pyburn.roll(x, shifts=(-shift[0], -shift[1]), dims=(1, 2))
        qkv = self._qkv(self._windows(x)).reshape(-1, h * w, 3, self.num_heads, channels // self.num_heads)
        q, k, v = qkv.permute(2, 0, 3, 1, 4).unbind(0)
        scores = self._scores(q, k) + self._relative_position_bias()
        if any(shift):
            mask = self._mask(high, wide, shift).to(device=x.device, dtype=x.dtype)
            scores = (scores.reshape(n, -1, *scores.shape[1:]) + mask[:, None]).reshape(scores.shape)
        attention = F.dropout(scores.softmax(-1), self.attention_dropout, self.training)
        x = (attention @ v).transpose(1, 2).reshape(-1, h * w, channels)
        x = F.dropout(self.proj(x), self.dropout, self.training)
        x = x.reshape(n, high // h, wide // w, h, w, channels).permute(0, 1, 3, 2, 4, 5).reshape(n, high, wide, channels)
        if any(shift):
            x = pyburn.roll(x, shifts=(shift[0], shift[1]), dims=(1, 2))
        return x[:, :height, :width]


class ShiftedWindowAttentionV2(ShiftedWindowAttention):
    """Attention by the cosine of queries and keys; a small network computes the biases from logarithmic distances."""

    def _define_bias(self) -> None:
        self.logit_scale = nn.Parameter(pyburn.full((self.num_heads, 1, 1), math.log(10.0)))
        self.cpb_mlp = nn.Sequential(nn.Linear(2, 512), nn.ReLU(inplace=True), nn.Linear(512, self.num_heads, bias=False))
        axes = [pyburn.arange(1.0 - extent, extent) / (extent - 1) * 8 for extent in self.window_size]
        table = pyburn.stack(pyburn.meshgrid(*axes, indexing="ij"), -1)[None]
        self.register_buffer("relative_coords_table", table.sign() * (table.abs() + 1.0).log2() / 3.0)
        if self.qkv.bias is not None:
            nn.init.zeros_(self.qkv.bias[len(self.qkv.bias) // 3 : 2 * len(self.qkv.bias) // 3])

    def _bias_table(self) -> Tensor:
        return 16 * self.cpb_mlp(self.relative_coords_table).reshape(-1, self.num_heads).sigmoid()

    def _qkv(self, windows: Tensor) -> Tensor:
        bias: Tensor | None = self.qkv.bias
        if bias is not None:  # the keys have no bias
            length = bias.numel() // 3
            bias = pyburn.cat([bias[:length], pyburn.zeros_like(bias[:length]), bias[2 * length :]])
        return F.linear(windows, self.qkv.weight, bias)

    def _scores(self, q: Tensor, k: Tensor) -> Tensor:
        cosine = F.normalize(q, dim=-1) @ F.normalize(k, dim=-1).transpose(-2, -1)
        return cosine * self.logit_scale.clamp(max=math.log(100.0)).exp()


class SwinTransformerBlock(nn.Module):
    """Attention and an MLP, each after a norm and with a residual connection."""

    attention: type[ShiftedWindowAttention] = ShiftedWindowAttention

    def __init__(
        self,
        dim: int,
        num_heads: int,
        window_size: Sequence[int],
        shift_size: Sequence[int],
        mlp_ratio: float = 4.0,
        dropout: float = 0.0,
        attention_dropout: float = 0.0,
        stochastic_depth_prob: float = 0.0,
        norm_layer: NormLayer = nn.LayerNorm,
        attn_layer: Callable[..., nn.Module] | None = None,
    ) -> None:
        super().__init__()
        self.norm1 = norm_layer(dim)
        attention = attn_layer or self.attention
        self.attn = attention(dim, window_size, shift_size, num_heads, attention_dropout=attention_dropout, dropout=dropout)
        self.stochastic_depth = StochasticDepth(stochastic_depth_prob, "row")
        self.norm2 = norm_layer(dim)
        self.mlp = MLP(dim, [int(dim * mlp_ratio), dim], activation_layer=nn.GELU, dropout=dropout)

    def forward(self, x: Tensor) -> Tensor:
        x = x + self.stochastic_depth(self.attn(self.norm1(x)))
        return x + self.stochastic_depth(self.mlp(self.norm2(x)))


class SwinTransformerBlockV2(SwinTransformerBlock):
    """SwinTransformerBlock with cosine attention, and the norms after attention and MLP."""

    attention = ShiftedWindowAttentionV2

    def forward(self, x: Tensor) -> Tensor:
        x = x + self.stochastic_depth(self.norm1(self.attn(x)))
        return x + self.stochastic_depth(self.norm2(self.mlp(x)))


class SwinTransformer(nn.Module):
    """Swin Transformer: patches, stages of window attention with patch merging between them, average pooling and a linear layer.

    Args:
        patch_size: The height and width of a patch.
        embed_dim: The channels of the first stage, which each further stage doubles.
        depths: The number of blocks of each stage.
        num_heads: The number of heads of each stage.
        window_size: The height and width of the windows of attention.
        mlp_ratio: The hidden size of the MLPs as a multiple of the channels.
        dropout: The dropout rate.
        attention_dropout: The dropout rate of the attention weights.
        stochastic_depth_prob: The drop rate of the last block; it grows linearly with depth.
        num_classes: The number of classes.
        norm_layer: Creates a norm of a number of channels; by default LayerNorm.
        block: The class of the blocks; by default SwinTransformerBlock.
        downsample_layer: The class of the layers between stages.

    >>> model = p_vision.models.SwinTransformer([4, 4], 16, [2, 2], [2, 4], [4, 4], num_classes=10)
    >>> model(pyburn.rand(1, 3, 32, 32)).shape
    pyburn.Size([1, 10])
    """

    def __init__(
        self,
        patch_size: Sequence[int],
        embed_dim: int,
        depths: Sequence[int],
        num_heads: Sequence[int],
        window_size: Sequence[int],
        mlp_ratio: float = 4.0,
        dropout: float = 0.0,
        attention_dropout: float = 0.0,
        stochastic_depth_prob: float = 0.1,
        num_classes: int = 1000,
        norm_layer: NormLayer | None = None,
        block: Callable[..., nn.Module] | None = None,
        downsample_layer: Callable[..., nn.Module] = PatchMerging,
    ) -> None:
        super().__init__()
        self.num_classes = num_classes
        norm, block = norm_layer or partial(nn.LayerNorm, eps=1e-5), block or SwinTransformerBlock
        patches = nn.Conv2d(3, embed_dim, kernel_size=tuple(patch_size), stride=tuple(patch_size))
        layers: list[nn.Module] = [nn.Sequential(patches, Permute([0, 2, 3, 1]), norm(embed_dim))]
        shifts = [[0] * len(window_size), [extent // 2 for extent in window_size]]
        dim, built, last = embed_dim, 0, sum(depths) - 1
        for stage, (depth, heads) in enumerate(zip(depths, num_heads, strict=True)):
            blocks = []
            for i in range(depth):
                rate = stochastic_depth_prob * built / last
                options: dict[str, Any] = {
                    "stochastic_depth_prob": rate,
                    "norm_layer": norm,
                    "dropout": dropout,
                    "attention_dropout": attention_dropout,
                }
                blocks.append(block(dim, heads, window_size=window_size, shift_size=shifts[i % 2], mlp_ratio=mlp_ratio, **options))
                built += 1
            layers.append(nn.Sequential(*blocks))
            if stage < len(depths) - 1:
                layers.append(downsample_layer(dim, norm))
                dim *= 2
        self.features = nn.Sequential(*layers)
        self.norm = norm(dim)
        self.permute = Permute([0, 3, 1, 2])
        self.avgpool = nn.AdaptiveAvgPool2d(1)
        self.flatten = nn.Flatten(1)
        self.head = nn.Linear(dim, num_classes)
        init_truncated_(self.features[1:])
        nn.init.trunc_normal_(self.head.weight, std=0.02)
        nn.init.zeros_(self.head.bias)

    def forward(self, x: Tensor) -> Tensor:
        return self.head(self.flatten(self.avgpool(self.permute(self.norm(self.features(x))))))


_V2 = {"block": SwinTransformerBlockV2, "downsample_layer": PatchMergingV2}


def _swin(weights: Weights | None, width: int, depth: int, heads: int, window: int, rate: float, **options: Any) -> SwinTransformer:
    """`depth` is that of the third stage, `heads` those of the first, which each stage doubles."""
    options = {"stochastic_depth_prob": rate, **options}
    sizes = ([4, 4], width, [2, 2, depth, 2], [heads, 2 * heads, 4 * heads, 8 * heads], [window, window])
    return build(SwinTransformer, weights, *sizes, **options)


swin_t = variant("swin_t", "Swin-T", 28.3, _swin, 96, 6, 3, 7, 0.2)
swin_s = variant("swin_s", "Swin-S", 49.6, _swin, 96, 18, 3, 7, 0.3)
swin_b = variant("swin_b", "Swin-B", 87.8, _swin, 128, 18, 4, 7, 0.5)
swin_v2_t = variant("swin_v2_t", "Swin V2-T", 28.4, _swin, 96, 6, 3, 8, 0.2, **_V2)
swin_v2_s = variant("swin_v2_s", "Swin V2-S", 49.7, _swin, 96, 18, 3, 8, 0.3, **_V2)
swin_v2_b = variant("swin_v2_b", "Swin V2-B", 87.9, _swin, 128, 18, 4, 8, 0.5, **_V2)
