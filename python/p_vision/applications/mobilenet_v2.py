"""MobileNetV2 (Sandler et al., https://arxiv.org/abs/1801.04381)."""

from __future__ import annotations

from functools import partial
from typing import Any

from .. import layers
from ..model import Model
from ..models.building import rounded_channels
from ..symbolic.symbol import Symbol
from .frame import channels_of, even_border, network, normalised
from .resnet_v2 import preprocess_input

__all__ = ["MobileNetV2", "preprocess_input"]

_BLOCKS = ((16, 1, 1), (24, 2, 2), (32, 3, 2), (64, 4, 2), (96, 3, 1), (160, 3, 2), (320, 1, 1))  # channels, repeats, first stride


def MobileNetV2(
    input_shape: Any = None, alpha: float = 1.0, include_top: bool = True, weights: Any = "imagenet", *, name: Any = None, **options: Any
) -> Model:
    """MobileNetV2: inverted residual blocks with depthwise convolutions.

    Args:
        input_shape: The input shape without the batch dimension; by default (224, 224, 3).
        alpha: Scales the numbers of channels.
        include_top: Whether to include the classifier.
        weights: None for random weights, or a file written by save_weights. Keras's default "imagenet" raises: nothing is downloaded.
        name: The name of the model.
        **options: input_tensor, pooling, classes, classifier_activation and backend, as in ResNet50.

    Returns:
        The model, which takes images (N, height, width, channels).

    >>> features = p_vision.applications.MobileNetV2((64, 64, 3), alpha=0.35, include_top=False, weights=None, pooling="avg")
    >>> features.output_shape
    (None, 1280)
    """
    size = input_shape[0] if input_shape is not None else 224
    name = name or f"mobilenetv2_{alpha:0.2f}_{size}".replace(".", "_")  # layer names cannot contain dots
    made = network("MobileNetV2", "", partial(_features, alpha))
    return made(include_top, weights, input_shape=input_shape, name=name, **options)


def _features(alpha: float, x: Symbol) -> Symbol:
    x = layers.Conv2D(rounded_channels(32 * alpha), 3, strides=2, padding="same", use_bias=False, name="Conv1")(x)
    x = layers.ReLU(6.0, name="Conv1_relu")(_normalised(x, "bn_Conv1"))
    number = 0
    for channels, count, stride in _BLOCKS:
        for index in range(count):
            x = _block(x, rounded_channels(int(channels * alpha)), stride if index == 0 else 1, number)
            number += 1
    x = layers.Conv2D(rounded_channels(1280 * alpha) if alpha > 1 else 1280, 1, use_bias=False, name="Conv_1")(x)
    return layers.ReLU(6.0, name="out_relu")(_normalised(x, "Conv_1_bn"))


def _normalised(x: Symbol, name: str) -> Symbol:
    return normalised(x, name, momentum=0.999)


def _block(inputs: Symbol, channels: int, stride: int, number: int) -> Symbol:
    prefix, x, given = f"block_{number}_" if number else "expanded_conv_", inputs, channels_of(inputs)
    if number:
        x = layers.Conv2D(6 * given, 1, use_bias=False, name=f"{prefix}expand")(x)
        x = layers.ReLU(6.0, name=f"{prefix}expand_relu")(_normalised(x, f"{prefix}expand_BN"))
    if stride == 2:
        x = even_border(x, 3, f"{prefix}pad")
    padding = "same" if stride == 1 else "valid"
    x = layers.DepthwiseConv2D(3, strides=stride, padding=padding, use_bias=False, name=f"{prefix}depthwise")(x)
    x = layers.ReLU(6.0, name=f"{prefix}depthwise_relu")(_normalised(x, f"{prefix}depthwise_BN"))
    x = _normalised(layers.Conv2D(channels, 1, use_bias=False, name=f"{prefix}project")(x), f"{prefix}project_BN")
    return layers.Add(name=f"{prefix}add")([inputs, x]) if given == channels and stride == 1 else x
