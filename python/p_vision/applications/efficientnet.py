"""EfficientNet (Tan and Le, https://arxiv.org/abs/1905.11946). The input has values from 0 to 255; the network rescales it."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any

from .. import layers
from ..initializers import VarianceScaling
from ..model import Model
from ..models.building import rounded_channels
from ..symbolic.symbol import Symbol
from .frame import average, channels_of, even_border, network, normalised

_SIZES = {  # width, depth, image size, dropout
    "B0": (1.0, 1.0, 224, 0.2),
    "B1": (1.0, 1.1, 240, 0.2),
    "B2": (1.1, 1.2, 260, 0.3),
    "B3": (1.2, 1.4, 300, 0.3),
    "B4": (1.4, 1.8, 380, 0.4),
    "B5": (1.6, 2.2, 456, 0.4),
    "B6": (1.8, 2.6, 528, 0.5),
    "B7": (2.0, 3.1, 600, 0.5),
}
_BLOCKS = (  # kernel size, repeats, channels, expansion, stride of the first block
    (3, 1, 16, 1, 1),
    (3, 2, 24, 6, 2),
    (5, 2, 40, 6, 2),
    (3, 3, 80, 6, 2),
    (5, 3, 112, 6, 1),
    (5, 4, 192, 6, 2),
    (3, 1, 320, 6, 1),
)
_DROPPED = 0.2  # the drop rate of the last block; it grows linearly with depth
_START = {"kernel_initializer": VarianceScaling(2.0, "fan_out", "truncated_normal")}


__all__ = [*(f"EfficientNet{letter}" for letter in _SIZES), "preprocess_input"]


def preprocess_input(x: Any, data_format: str | None = None) -> Any:
    """Returns the images unchanged: the network rescales them itself.

    Args:
        x: The images, as an array, a tensor or a symbol.
        data_format: "channels_last" or "channels_first".

    Returns:
        The images.

    >>> p_vision.applications.efficientnet.preprocess_input(pyburn.full((1, 1, 3), 255.0)).flatten().max().item() > 0.9
    True
    """
    return x


def _features(width: float, depth: float, x: Symbol) -> Symbol:
    x = even_border(layers.Normalization()(layers.Rescaling(1 / 255)(x)), 3, "stem_conv_pad")
    x = _conv(x, rounded_channels(32 * width), 3, "stem_conv", strides=2)
    x = _active(x, "stem_bn", "stem_activation")
    counts = [math.ceil(depth * count) for _, count, _, _, _ in _BLOCKS]
    done = 0
    for stage, (kernel, _, channels, expansion, stride) in enumerate(_BLOCKS):
        for index in range(counts[stage]):
            name, rate = f"block{stage + 1}{chr(97 + index)}_", _DROPPED * done / sum(counts)
            x = _block(x, kernel, rounded_channels(channels * width), expansion, stride if index == 0 else 1, rate, name)
            done += 1
    x = _conv(x, rounded_channels(1280 * width), 1, "top_conv")
    return _active(x, "top_bn", "top_activation")


def _head(dropout: float, x: Symbol) -> Symbol:
    return layers.Dropout(dropout, name="top_dropout")(average(x))


def _conv(x: Symbol, channels: int, kernel: int, name: str, **options: Any) -> Symbol:
    return layers.Conv2D(channels, kernel, use_bias=False, name=name, **_START, **options)(x)


def _active(x: Symbol, norm: str, activation: str) -> Symbol:
    return layers.Activation("swish", name=activation)(normalised(x, norm))


def _block(inputs: Symbol, kernel: int, channels: int, expansion: int, stride: int, rate: float, name: str) -> Symbol:
    x, given = inputs, channels_of(inputs)
    if expansion != 1:
        x = _active(_conv(x, expansion * given, 1, f"{name}expand_conv"), f"{name}expand_bn", f"{name}expand_activation")
    if stride == 2:
        x = even_border(x, kernel, f"{name}dwconv_pad")
    start = {"depthwise_initializer": _START["kernel_initializer"], "use_bias": False, "name": f"{name}dwconv"}
    x = layers.DepthwiseConv2D(kernel, strides=stride, padding="valid" if stride == 2 else "same", **start)(x)
    x = _active(x, f"{name}bn", f"{name}activation")
    weights = layers.Reshape((1, 1, expansion * given), name=f"{name}se_reshape")(
        layers.GlobalAveragePooling2D(name=f"{name}se_squeeze")(x)
    )
    weights = layers.Conv2D(max(1, given // 4), 1, activation="swish", name=f"{name}se_reduce", **_START)(weights)
    weights = layers.Conv2D(expansion * given, 1, activation="sigmoid", name=f"{name}se_expand", **_START)(weights)
    x = layers.Multiply(name=f"{name}se_excite")([x, weights])
    x = normalised(_conv(x, channels, 1, f"{name}project_conv"), f"{name}project_bn")
    if stride == 1 and given == channels:
        x = layers.Dropout(rate, noise_shape=(None, 1, 1, 1), name=f"{name}drop")(x) if rate else x
        x = layers.Add(name=f"{name}add")([x, inputs])
    return x


def _sized(letter: str) -> Callable[..., Model]:
    width, depth, size, dropout = _SIZES[letter]
    summary = f"EfficientNet-{letter}: channels times {width}, blocks times {depth}, for images of {size} x {size} pixels."
    top = {"kernel_initializer": VarianceScaling(1 / 3, "fan_out", "uniform")}
    return network(f"EfficientNet{letter}", summary, partial(_features, width, depth), size=size, head=partial(_head, dropout), top=top)


EfficientNetB0, EfficientNetB1, EfficientNetB2, EfficientNetB3 = (_sized(letter) for letter in ("B0", "B1", "B2", "B3"))
EfficientNetB4, EfficientNetB5, EfficientNetB6, EfficientNetB7 = (_sized(letter) for letter in ("B4", "B5", "B6", "B7"))
