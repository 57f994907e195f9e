"""Residual networks (He et al., https://arxiv.org/abs/1512.03385).

The stride is in the first convolution of a block; in torchvision and `p_vision.resnet50` it is in the second one.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from .. import layers
from ..symbolic.symbol import Symbol
from .frame import network, normalised
from .imagenet_utils import preprocess_input

__all__ = ["ResNet50", "ResNet101", "ResNet152", "preprocess_input"]

EPSILON = 1.001e-5  # of all batch norms


def _features(depths: Sequence[int], x: Symbol) -> Symbol:
    x = layers.Conv2D(64, 7, strides=2, name="conv1_conv")(layers.ZeroPadding2D(3, name="conv1_pad")(x))
    x = pooled(_relu(normalised(x, "conv1_bn", epsilon=EPSILON), "conv1_relu"))
    for stage, depth in enumerate(depths):
        for index in range(depth):
            stride = 2 if index == 0 and stage > 0 else 1
            x = _block(x, 64 << stage, stride, index == 0, f"conv{stage + 2}_block{index + 1}")
    return x


def pooled(x: Symbol) -> Symbol:
    return layers.MaxPooling2D(3, strides=2, name="pool1_pool")(layers.ZeroPadding2D(1, name="pool1_pad")(x))


def _relu(x: Symbol, name: str) -> Symbol:
    return layers.Activation("relu", name=name)(x)


def _block(x: Symbol, width: int, stride: int, widens: bool, name: str) -> Symbol:
    past = x
    if widens:
        past = layers.Conv2D(4 * width, 1, strides=stride, name=f"{name}_0_conv")(x)
        past = normalised(past, f"{name}_0_bn", epsilon=EPSILON)
    for index, (channels, kernel, step) in enumerate(((width, 1, stride), (width, 3, 1), (4 * width, 1, 1)), 1):
        x = layers.Conv2D(channels, kernel, strides=step, padding="same", name=f"{name}_{index}_conv")(x)
        x = normalised(x, f"{name}_{index}_bn", epsilon=EPSILON)
        x = _relu(x, f"{name}_{index}_relu") if index < 3 else x
    return _relu(layers.Add(name=f"{name}_add")([past, x]), f"{name}_out")


ResNet50 = network("ResNet50", "ResNet-50: 16 bottleneck blocks.", partial(_features, (3, 4, 6, 3)))
ResNet101 = network("ResNet101", "ResNet-101: 33 bottleneck blocks.", partial(_features, (3, 4, 23, 3)))
ResNet152 = network("ResNet152", "ResNet-152: 50 bottleneck blocks.", partial(_features, (3, 8, 36, 3)))
