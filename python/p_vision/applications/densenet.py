"""DenseNet (Huang et al., https://arxiv.org/abs/1608.06993)."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

from .. import layers
from ..symbolic.symbol import Symbol
from . import imagenet_utils
from .frame import channels_of, network, normalised
from .resnet import EPSILON

__all__ = ["DenseNet121", "DenseNet169", "DenseNet201", "preprocess_input"]


def preprocess_input(x: Any, data_format: str | None = None) -> Any:
    """Normalizes images with values from 0 to 255 by ImageNet's mean and standard deviation.

    Args:
        x: The images, as an array, a tensor or a symbol.
        data_format: "channels_last" or "channels_first".

    Returns:
        The images.

    >>> p_vision.applications.densenet.preprocess_input(pyburn.full((1, 1, 3), 255.0)).flatten().max().item() > 0.9
    True
    """
    return imagenet_utils.preprocess_input(x, data_format, "torch")


def _features(depths: Sequence[int], x: Symbol) -> Symbol:
    x = layers.Conv2D(64, 7, strides=2, use_bias=False, name="conv1_conv")(layers.ZeroPadding2D(3)(x))
    x = _active(x, "conv1_bn", "conv1_relu")
    x = layers.MaxPooling2D(3, strides=2, name="pool1")(layers.ZeroPadding2D(1)(x))
    for stage, depth in enumerate(depths, 2):
        for index in range(1, depth + 1):
            x = layers.Concatenate(name=f"conv{stage}_block{index}_concat")([x, _grown(x, f"conv{stage}_block{index}")])
        if stage < 5:  # transition: half the channels, half the size
            x = _active(x, f"pool{stage}_bn", f"pool{stage}_relu")
            x = layers.Conv2D(channels_of(x) // 2, 1, use_bias=False, name=f"pool{stage}_conv")(x)
            x = layers.AveragePooling2D(2, name=f"pool{stage}_pool")(x)
    return _active(x, "bn", "relu")


def _active(x: Symbol, norm: str, relu: str) -> Symbol:
    return layers.Activation("relu", name=relu)(normalised(x, norm, epsilon=EPSILON))


def _grown(x: Symbol, name: str) -> Symbol:
    """Appends 32 channels to x."""
    x = layers.Conv2D(128, 1, use_bias=False, name=f"{name}_1_conv")(_active(x, f"{name}_0_bn", f"{name}_0_relu"))
    return layers.Conv2D(32, 3, padding="same", use_bias=False, name=f"{name}_2_conv")(_active(x, f"{name}_1_bn", f"{name}_1_relu"))


DenseNet121 = network("DenseNet121", "DenseNet-121: dense blocks of 6, 12, 24 and 16 layers.", partial(_features, (6, 12, 24, 16)))
DenseNet169 = network("DenseNet169", "DenseNet-169: dense blocks of 6, 12, 32 and 32 layers.", partial(_features, (6, 12, 32, 32)))
DenseNet201 = network("DenseNet201", "DenseNet-201: dense blocks of 6, 12, 48 and 32 layers.", partial(_features, (6, 12, 48, 32)))
