"""VGG (Simonyan and Zisserman, https://arxiv.org/abs/1409.1556)."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from .. import layers
from ..symbolic.symbol import Symbol
from .frame import network
from .imagenet_utils import preprocess_input

__all__ = ["VGG16", "preprocess_input"]


def features(depths: Sequence[int], x: Symbol) -> Symbol:
    for block, (depth, width) in enumerate(zip(depths, (64, 128, 256, 512, 512)), 1):
        for index in range(1, depth + 1):
            x = layers.Conv2D(width, 3, padding="same", activation="relu", name=f"block{block}_conv{index}")(x)
        x = layers.MaxPooling2D(2, name=f"block{block}_pool")(x)
    return x


def head(x: Symbol) -> Symbol:
    x = layers.Flatten(name="flatten")(x)
    for index in (1, 2):
        x = layers.Dense(4096, activation="relu", name=f"fc{index}")(x)
    return x


VGG16 = network("VGG16", "VGG-16: 13 convolutions in five blocks and three dense layers.", partial(features, (2, 2, 3, 3, 3)), head=head)
