"""Pre-activation residual networks (He et al., https://arxiv.org/abs/1603.05027)."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

from .. import layers
from ..symbolic.symbol import Symbol
from . import imagenet_utils
from .frame import network, normalised
from .resnet import EPSILON, pooled

__all__ = ["ResNet50V2", "ResNet101V2", "ResNet152V2", "preprocess_input"]


def preprocess_input(x: Any, data_format: str | None = None) -> Any:
    """Scales images with values from 0 to 255 to [-1, 1].

    Args:
        x: The images, as an array, a tensor or a symbol.
        data_format: "channels_last" or "channels_first".

    Returns:
        The images.

    >>> p_vision.applications.resnet_v2.preprocess_input(pyburn.full((1, 1, 3), 255.0)).flatten().max().item() > 0.9
    True
    """
    return imagenet_utils.preprocess_input(x, data_format, "tf")


def _features(depths: Sequence[int], x: Symbol) -> Symbol:
    x = pooled(layers.Conv2D(64, 7, strides=2, name="conv1_conv")(layers.ZeroPadding2D(3, name="conv1_pad")(x)))
    for stage, depth in enumerate(depths):
        for index in range(depth):
            stride = 2 if index == depth - 1 and stage < 3 else 1  # the last block of a stage downsamples
            x = _block(x, 64 << stage, stride, index == 0, f"conv{stage + 2}_block{index + 1}")
    return _active(x, "post")


def _active(x: Symbol, name: str) -> Symbol:
    return layers.Activation("relu", name=f"{name}_relu")(normalised(x, f"{name}_bn", epsilon=EPSILON))


def _block(x: Symbol, width: int, stride: int, widens: bool, name: str) -> Symbol:
    before = _active(x, f"{name}_preact")
    if widens:
        past = layers.Conv2D(4 * width, 1, strides=stride, name=f"{name}_0_conv")(before)
    else:
        past = layers.MaxPooling2D(1, strides=stride)(x) if stride > 1 else x
    x = _active(layers.Conv2D(width, 1, use_bias=False, name=f"{name}_1_conv")(before), f"{name}_1")
    x = layers.ZeroPadding2D(1, name=f"{name}_2_pad")(x)
    x = _active(layers.Conv2D(width, 3, strides=stride, use_bias=False, name=f"{name}_2_conv")(x), f"{name}_2")
    return layers.Add(name=f"{name}_out")([past, layers.Conv2D(4 * width, 1, name=f"{name}_3_conv")(x)])


ResNet50V2 = network("ResNet50V2", "ResNet-50 V2: 16 bottleneck blocks.", partial(_features, (3, 4, 6, 3)))
ResNet101V2 = network("ResNet101V2", "ResNet-101 V2: 33 bottleneck blocks.", partial(_features, (3, 4, 23, 3)))
ResNet152V2 = network("ResNet152V2", "ResNet-152 V2: 50 bottleneck blocks.", partial(_features, (3, 8, 36, 3)))
